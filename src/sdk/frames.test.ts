import { describe, expect, it } from 'vitest';
import { FrameReader } from './frames.ts';

describe('a stream of events', () => {
  it('gives out whole messages, whatever the pieces', () => {
    const text =
      ': connected\n\nevent: log\ndata: one\ndata: two\r\n\r\nid: e1\nevent: node.ready\ndata: {"a":1}\n\n';
    for (let cut = 1; cut < text.length; cut += 1) {
      const reader = new FrameReader();
      const frames = [...reader.push(text.slice(0, cut)), ...reader.push(text.slice(cut))];
      expect(frames).toEqual([
        { event: 'log', data: 'one\ntwo' },
        { event: 'node.ready', data: '{"a":1}', id: 'e1' },
      ]);
    }
  });

  it('keeps a message that is not complete', () => {
    const reader = new FrameReader();
    expect(reader.push('data: half')).toEqual([]);
    expect(reader.push('\n\n')).toEqual([{ event: 'message', data: 'half' }]);
  });

  it('takes no message without an end', () => {
    const reader = new FrameReader();
    const line = `data: ${'x'.repeat(2 ** 20)}\n`;
    expect(() => {
      for (let lines = 0; lines < 8; lines += 1) reader.push(line);
    }).toThrow('longer than 4 MiB');
  });
});
