import { expect, it } from 'vitest';
import { deployments } from './deployments.ts';

it('a list says why before where, and nothing of what runs', () => {
  const shown = (phase: string, message: string) =>
    deployments.columns.at(-1)?.cell({ name: 'web', status: { phase, message } }, 0);
  expect(shown('Degraded', 'instance ins_01a on b1 has no container, its image cannot be pulled')).toBe(
    'its image cannot be pulled (on b1)',
  );
  expect(shown('Running', '2 of 2 instances run')).toBe('');
});
