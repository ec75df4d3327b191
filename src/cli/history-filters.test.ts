import { expect, it } from 'vitest';
import { sinceTime, subjectOf } from './history-filters.ts';

it.each([
  [undefined, undefined],
  ['web', 'web'],
  ['deployment/web', 'Deployment/web'],
  ['node/*', 'Node/*'],
  ['controlplane/vm', 'ControlPlane/vm'],
  ['Secret/resources/db', 'Secret/resources/db'],
  // The name of a secret document, whose first part is no kind.
  ['resources/db', 'resources/db'],
])('the subject %j is asked for as %j', (typed, asked) => expect(subjectOf(typed)).toBe(asked));

it('a time is taken as it is, and a span counted back from now', () => {
  const now = Date.parse('2026-01-31T12:00:00Z');
  expect(sinceTime(undefined, now)).toBeUndefined();
  expect(sinceTime('90m', now)).toBe('2026-01-31T10:30:00.000Z');
  expect(sinceTime('2026-01-01T00:00:00+01:00', now)).toBe('2026-01-01T00:00:00+01:00');
  expect(() => sinceTime('yesterday', now)).toThrow('expected a time');
});
