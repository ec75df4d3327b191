import { describe, expect, it } from 'vitest';
import { failure, type SecretFailure } from './port.ts';
import { sideBySide } from './side-by-side.ts';

const PATIENT = { patienceMs: 60_000 };
const numbered = (count: number) => new Map(Array.from({ length: count }, (_, n) => [`k${n}`, n] as const));
type Answer = { readonly ok: true; readonly n: number } | SecretFailure;

describe('questions of one request', () => {
  it('are all answered', async () => {
    const asked = await sideBySide(PATIENT, numbered(40), async (n) => ({ ok: true as const, n }));
    expect(asked.ok && [...asked.answers.values()].map(({ n }) => n)).toEqual([...Array(40).keys()]);
    expect(await sideBySide(PATIENT, numbered(0), async () => ({ ok: true as const }))).toMatchObject({
      ok: true,
    });
  });

  it('are under way together, and not one after another', async () => {
    const gates = new Map<number, () => void>();
    const asked = sideBySide(
      PATIENT,
      numbered(16),
      (n) => new Promise<Answer>((resolve) => gates.set(n, () => resolve({ ok: true, n }))),
    );
    await Promise.resolve();
    expect(gates.size).toBe(16);
    for (const open of gates.values()) open();
    expect((await asked).ok).toBe(true);
  });

  it('end with the first failure, whatever still hangs, and nothing more is asked', async () => {
    let asked = 0;
    const ended = await sideBySide(PATIENT, numbered(40), (n): Promise<Answer> => {
      asked += 1;
      return n === 3 ? Promise.resolve(failure('unavailable', 'away')) : new Promise(() => undefined);
    });
    expect(ended).toMatchObject({ ok: false, of: 'k3', failed: { message: 'away' } });
    expect(asked).toBe(16);
  });

  it('end when the time for all of them is over', async () => {
    const ended = await sideBySide(
      { patienceMs: 1 },
      numbered(3),
      () => new Promise<Answer>(() => undefined),
    );
    expect(ended).toMatchObject({ ok: false, failed: { reason: 'unavailable' } });
    expect('of' in ended && ended.of).toBeFalsy();
  });

  it('that throw are a fault', async () => {
    await expect(sideBySide(PATIENT, numbered(2), () => Promise.reject(new TypeError('x')))).rejects.toThrow(
      TypeError,
    );
  });
});
