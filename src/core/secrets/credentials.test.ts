import { describe, expect, it } from 'vitest';
import { isSpent } from './credentials.ts';
import type { HoldingInstance } from './rotation.ts';

const RECORD = { current: 2, known: 2, handed: 2, minted: { password: {} } };
const instance = (given: Partial<HoldingInstance>): HoldingInstance => ({
  id: 'a',
  phase: 'running',
  ...given,
});

describe('generated material of a process', () => {
  const spent = (...others: readonly HoldingInstance[]) => isSpent(RECORD, 2, 'process', others);

  it('is spent once it was handed out and nobody holds it', () => {
    expect(spent()).toBe(true);
    expect(spent(instance({ versions: { current: 1 } }))).toBe(true);
    expect(spent(instance({ versions: { current: 2 }, phase: 'removed' }))).toBe(true);
    expect(isSpent({ ...RECORD, handed: 1 }, 2, 'process', [])).toBe(false);
    expect(isSpent(RECORD, 2, 'external', [])).toBe(false);
    expect(
      isSpent({ ...RECORD, rotation: { phase: 'staged', next: 3, previous: 2 } }, 2, 'process', []),
    ).toBe(false);
  });

  it('is shared while a container holds it, or may', () => {
    expect(spent(instance({ versions: { current: 2 } }))).toBe(false);
    expect(spent(instance({ versions: { current: 2 }, phase: 'pending' }))).toBe(false);
    expect(spent(instance({}))).toBe(false);
    expect(spent(instance({ isApart: true }))).toBe(true);
  });
});
