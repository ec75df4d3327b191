import { expect, test } from 'vitest';
import { Once } from './once.ts';

const turn = () => new Promise(setImmediate);

function tasks(again?: (key: string) => void) {
  const begun: string[] = [];
  const faults: unknown[] = [];
  const open: PromiseWithResolvers<void>[] = [];
  const once = new Once<string>(
    (key) => {
      begun.push(key);
      const task = Promise.withResolvers<void>();
      open.push(task);
      return task.promise;
    },
    { onFault: (fault, key) => faults.push([key, fault]), ...(again && { again }) },
  );
  return { once, begun, faults, open };
}

test('what is asked for meanwhile, however often, is done once more after the end', async () => {
  const { once, begun, open } = tasks();
  for (let count = 0; count < 3; count += 1) once.ask('a');
  once.ask('b');
  expect(begun).toEqual(['a', 'b']);
  open[0]?.resolve();
  await turn();
  expect(begun).toEqual(['a', 'b', 'a']);
  open[2]?.resolve();
  await turn();
  expect(begun).toHaveLength(3);
});

test('a fault is told, and ends nothing', async () => {
  const { once, begun, faults, open } = tasks();
  once.ask('a');
  once.ask('a');
  open[0]?.reject('broken');
  await turn();
  expect(faults).toEqual([['a', 'broken']]);
  expect(begun).toEqual(['a', 'a']);
});

test('whoever asks once more may take its time', async () => {
  const later: string[] = [];
  const { once, begun, open } = tasks((key) => later.push(key));
  once.ask('a');
  once.ask('a');
  open[0]?.resolve();
  await once.ended();
  expect([begun, later]).toEqual([['a'], ['a']]);
});
