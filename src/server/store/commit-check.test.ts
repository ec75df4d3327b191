import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkCommit } from './commit-check.ts';

const isTaken = (puts: readonly string[], deletes: readonly string[] = []): boolean => {
  try {
    checkCommit({ puts: puts.map((key) => ({ key, value: '{}' })), deletes });
    return true;
  } catch (error) {
    expect(String(error)).toContain('writes the same key twice');
    return false;
  }
};

/** Of few characters, so that many are the same, and many end alike. */
const key = fc.stringMatching(/^(a|b){1,3}(xyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyz)?[0-9]{0,3}$/);

it('finds a key that is written twice, whatever keys are beside it', () => {
  fc.assert(
    fc.property(
      fc.array(key, { minLength: 1, maxLength: 60 }),
      fc.array(key, { maxLength: 9 }),
      (puts, deletes) => {
        const isOnce = new Set([...puts, ...deletes]).size === puts.length + deletes.length;
        expect(isTaken(puts, deletes)).toBe(isOnce);
      },
    ),
    { numRuns: 2000 },
  );
});

it.each([2, 8, 9, 360, 1024, 1025])(
  'finds the last of %i keys among the others, and nothing else',
  (amount) => {
    const alike = `${'x'.repeat(200)}-web`;
    const keys = Array.from({ length: amount }, (_, at) => `h/t/0/deployments/${at}${alike}`);
    expect(isTaken(keys)).toBe(true);
    expect(isTaken([...keys, `h/t/0/deployments/${amount >> 1}${alike}`])).toBe(false);
    expect(isTaken(keys, [`h/t/0/deployments/0${alike}`])).toBe(false);
  },
);
