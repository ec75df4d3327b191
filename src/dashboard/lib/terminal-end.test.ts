import { expect, it } from 'vitest';
import { endText } from './terminal-end.ts';

it.each([
  [{ type: 'end', exitCode: 3 }, 'itself', 'The command ended with exit status 3.'],
  [{ type: 'end', detached: true }, 'itself', 'Left: the command goes on without this terminal.'],
  [{ type: 'end', timedOut: true }, 'itself', 'The command took too long and was killed.'],
  [{ type: 'end' }, 'itself', 'The command ended without an exit status.'],
  [undefined, 'closed', 'Ended from here; the command was stopped.'],
  [undefined, 'itself', 'The connection was lost. What ran here is stopped by its node.'],
] as const)('says of %j by %s', (end, by, text) => {
  expect(endText({ end, by })).toBe(text);
});

it('tells a connection that was never there from one that was lost', () => {
  expect(endText({ end: undefined, by: 'refused' })).toContain('could not be opened');
});
