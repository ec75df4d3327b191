import { describe, expect, it } from 'vitest';
import type { ServerMessage } from '../../core/contract/agent-protocol.ts';
import { AgentStreams } from './streams.ts';

function opened(answers = true) {
  const sent: ServerMessage[] = [];
  const streams = new AgentStreams();
  const send = (message: ServerMessage): boolean => {
    sent.push(message);
    return answers;
  };
  return { sent, streams, open: () => streams.open({ kind: 'containers' }, send) };
}

describe('streams', () => {
  it('ask, grant a window, and give credit back as pieces are read', async () => {
    const { sent, streams, open } = opened();
    const stream = open();
    expect(sent).toMatchObject([
      { type: 'request', streamId: 's1' },
      { type: 'credit', bytes: 256 * 1024 },
    ]);
    const piece = 'x'.repeat(32 * 1024);
    for (let index = 0; index < 3; index += 1) streams.data({ type: 'data', streamId: 's1', text: piece });
    streams.end({ type: 'end', streamId: 's1', exitCode: 0 });
    const read: string[] = [];
    for await (const { text } of stream) read.push(text ?? '');
    expect(read).toEqual([piece, piece, piece]);
    expect(stream.end).toEqual({ exitCode: 0 });
    // Ended before it was read: no credit is owed to anyone.
    expect(sent).toHaveLength(2);
  });

  it('send credit while the stream goes on', async () => {
    const { sent, streams, open } = opened();
    const reader = open()[Symbol.asyncIterator]();
    for (let index = 0; index < 3; index += 1)
      streams.data({ type: 'data', streamId: 's1', text: 'x'.repeat(32 * 1024) });
    for (let index = 0; index < 3; index += 1) await reader.next();
    expect(sent.at(-1)).toEqual({ type: 'credit', streamId: 's1', bytes: 64 * 1024 });
    await reader.return(undefined);
    expect(sent.at(-1)).toEqual({ type: 'cancel', streamId: 's1' });
    expect(streams.data({ type: 'data', streamId: 's1', text: 'late' })).toBe(false);
  });

  it('fail when the agent is away, when it has too many, and when the session ends', async () => {
    expect(opened(false).open().end).toMatchObject({ error: { reason: 'agent_unreachable' } });
    const { streams, open } = opened();
    const all = Array.from({ length: 65 }, open);
    expect(all[64]?.end).toMatchObject({ error: { reason: 'too_many_streams' } });
    expect(all[63]?.end).toBeUndefined();
    streams.closeAll();
    expect(all[63]?.end).toMatchObject({ error: { reason: 'agent_unreachable' } });
    for await (const _item of all[0] ?? []) throw new Error('nothing was sent');
  });

  it('cut an agent off that does not keep to its window', () => {
    const { sent, streams, open } = opened();
    const stream = open();
    for (let index = 0; index < 5; index += 1)
      streams.data({ type: 'data', streamId: 's1', text: 'x'.repeat(256 * 1024) });
    expect(stream.end).toMatchObject({ error: { reason: 'protocol_violated' } });
    expect(sent.at(-1)).toEqual({ type: 'cancel', streamId: 's1' });
  });
});
