import { describe, expect, it } from 'vitest';
import { FrameReader } from './event-frames.ts';

describe('a stream of events', () => {
  it('gives out whole messages, whatever the pieces', () => {
    const text = ': connected\n\nid: e1\nevent: node.ready\ndata: {"a":1}\n\ndata: one\ndata: two\n\n';
    for (let cut = 1; cut < text.length; cut += 1) {
      const reader = new FrameReader();
      const frames = [...reader.push(text.slice(0, cut)), ...reader.push(text.slice(cut))];
      expect(frames).toEqual([
        { event: 'node.ready', data: '{"a":1}', id: 'e1' },
        { event: 'message', data: 'one\ntwo' },
      ]);
    }
  });

  it('keeps a message that is not complete', () => {
    const reader = new FrameReader();
    expect(reader.push('data: half')).toEqual([]);
    expect(reader.push('\n\n')).toEqual([{ event: 'message', data: 'half' }]);
  });
});
