import { describe, expect, it } from 'vitest';
import type { ServerMessage, StreamOperation } from '../../../core/protocol/agent-protocol.ts';
import type { StreamPurpose } from '../../../core/contract/stream-budgets.ts';
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
    const all = Array.from({ length: 17 }, open);
    expect(all[16]?.end).toMatchObject({ error: { reason: 'too_many_streams' } });
    expect(all[15]?.end).toBeUndefined();
    streams.closeAll();
    expect(all[15]?.end).toMatchObject({ error: { reason: 'agent_unreachable' } });
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

  it('of one purpose leave those of the others alone, and make room when they end', () => {
    const streams = new AgentStreams();
    const ask = (operation: StreamOperation, purpose?: StreamPurpose) =>
      streams.open(operation, () => true, purpose).end?.error?.message;
    const follow = { kind: 'logs', instanceId: 'ins_1', follow: true } as const;
    const read = { ...follow, follow: false };
    const followed = Array.from({ length: 24 }, () => streams.open(follow, () => true));
    expect(ask(follow)).toContain('at most 24 followed logs');
    for (let count = 0; count < 16; count += 1) ask(read);
    expect(ask(read)).toContain('at most 16 logs');
    expect(ask(read, 'kept logs')).toBeUndefined();
    expect(ask({ kind: 'exec', instanceId: 'ins_1', command: ['true'], timeoutMs: 1000 })).toBeUndefined();
    expect(ask({ kind: 'containers' })).toBeUndefined();
    followed[0]?.cancel();
    expect(ask(follow)).toBeUndefined();
  });
});
