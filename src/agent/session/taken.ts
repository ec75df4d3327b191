import type { Writable } from 'node:stream';

/** What was written was read, or never will be. */
export async function taken(by: Writable): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      by.off('drain', done).off('close', done);
      resolve();
    };
    by.on('drain', done).on('close', done);
  });
}
