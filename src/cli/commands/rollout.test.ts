import { describe, expect, it } from 'vitest';
import { previousVersion } from './rollout.ts';

const version = (number: number, image: string, change = 'updated') => ({
  version: number,
  change,
  spec: { image },
});

describe('the version to go back to', () => {
  it('is the last one with another configuration', () => {
    expect(previousVersion([version(1, 'a'), version(2, 'b'), version(3, 'b')])).toBe(1);
  });
  it('is not one that was deleted', () => {
    expect(previousVersion([version(1, 'a'), version(2, 'c', 'deleted'), version(3, 'b')])).toBe(1);
  });
  it('is none when nothing else was ever stored', () => {
    expect(previousVersion([version(1, 'a'), version(2, 'a')])).toBeUndefined();
    expect(previousVersion([])).toBeUndefined();
  });
});
