import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogLine } from './engine.ts';
import { LineAssembler } from './log-lines.ts';

function assemble(chunks: readonly Buffer[], maxLineBytes: number): readonly LogLine[] {
  const lines = new LineAssembler(maxLineBytes);
  const pushed = chunks.flatMap((text) => [...lines.push({ stream: 'stdout', text })]);
  return [...pushed, ...lines.end()];
}

describe('line assembler', () => {
  it('joins entries of one line, with the first timestamp, apart by stream', () => {
    const lines = new LineAssembler(100);
    const push = (stream: 'stdout' | 'stderr', timestamp: string, text: string): readonly LogLine[] => [
      ...lines.push({ stream, timestamp, text: Buffer.from(text) }),
    ];
    expect(push('stdout', 't1', 'one ')).toEqual([]);
    expect(push('stderr', 't2', 'err\n')).toEqual([
      { stream: 'stderr', line: 'err', partial: false, timestamp: 't2' },
    ]);
    expect(push('stdout', 't3', 'line\r\n')).toEqual([
      { stream: 'stdout', line: 'one line', partial: false, timestamp: 't1' },
    ]);
    expect(push('stdout', 't4', '\n')).toEqual([
      { stream: 'stdout', line: '', partial: false, timestamp: 't4' },
    ]);
    expect(push('stdout', 't5', 'rest')).toEqual([]);
    expect([...lines.end()]).toEqual([{ stream: 'stdout', line: 'rest', partial: false, timestamp: 't5' }]);
  });

  it('cuts long lines between characters', () => {
    const lines = assemble([Buffer.from('é'.repeat(5)), Buffer.from('é\nx\n')], 5);
    expect(lines.map(({ line, partial }) => [line, partial])).toEqual([
      ['éé', true],
      ['éé', true],
      ['éé', false],
      ['x', false],
    ]);
  });

  it('gives the same lines however the bytes are split', () => {
    const text = fc
      .array(fc.constantFrom('a', 'é', '☃', '\n'), { maxLength: 60 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        text,
        fc.array(fc.nat(120), { maxLength: 8 }),
        fc.integer({ min: 4, max: 20 }),
        (content, cuts, max) => {
          const bytes = Buffer.from(content);
          const places = [
            0,
            ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
            bytes.length,
          ];
          const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
          const lines = assemble(chunks, max);
          const joined = lines.map(({ line, partial }) => (partial ? line : `${line}\n`)).join('');
          expect(joined).toBe(content === '' || content.endsWith('\n') ? content : `${content}\n`);
          for (const { line } of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(max);
        },
      ),
    );
  });
});
