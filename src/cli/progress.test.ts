import { expect, it } from 'vitest';
import { interruptible, type Progress } from './progress.ts';

it('a step that Ctrl-C ends says so, unless it says more', () => {
  const said: string[] = [];
  const progress: Progress = {
    line: (text) => said.push(text),
    step: (label) => ({
      note: () => undefined,
      parts: () => undefined,
      done: (detail = '') => said.push(`✔ ${label} ${detail}`),
      fail: (detail) => said.push(`✘ ${label} ${detail}`),
    }),
  };
  const interrupt = new AbortController();
  const shown = interruptible(progress, interrupt.signal);
  shown.line('here');
  shown.step('Engine').done('there');
  shown.step('Registry').fail('');
  const begun = shown.step('Control plane');
  interrupt.abort();
  begun.fail('');
  shown.step('Clean up').fail('in use');
  expect(said).toEqual([
    'here',
    '✔ Engine there',
    '✘ Registry ',
    '✘ Control plane interrupted',
    '✘ Clean up in use',
  ]);
});
