import { describe, expect, it } from 'vitest';
import { serverEvents } from './event-source.ts';

async function* pieces(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function collect<T>(source: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of source) found.push(item);
  return found;
}

async function read(...texts: readonly string[]) {
  return collect(serverEvents(pieces(...texts)));
}

describe('server-sent events', () => {
  it('are put together from any pieces', async () => {
    const whole = 'id: 7\nevent: node.ready\ndata: {"a":"ä"}\n\n';
    const bytes = [...Buffer.from(whole)].map((byte) => Buffer.from([byte]));
    async function* singly() {
      yield* bytes;
    }
    expect(await collect(serverEvents(singly()))).toEqual([
      { id: '7', event: 'node.ready', data: '{"a":"ä"}' },
    ]);
  });

  it('pass over comments and join lines of data', async () => {
    expect(await read(': keep-alive\n\ndata: a\ndata: b\r\n\r\n')).toEqual([
      { id: '', event: 'message', data: 'a\nb' },
    ]);
  });

  it('give nothing for an event that was cut off', async () => {
    expect(await read('data: whole\n\n', 'data: cut')).toEqual([{ id: '', event: 'message', data: 'whole' }]);
  });
});
