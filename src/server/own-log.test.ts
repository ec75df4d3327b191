import { describe, expect, it } from 'vitest';
import { ownLog } from './own-log.ts';

function logged(level: string) {
  const lines: string[] = [];
  const own = ownLog(level, { write: (text: string) => void lines.push(text) });
  const parsed = () => lines.map((text) => ({ ...JSON.parse(text), time: '' }));
  return { ...own, lines, parsed };
}

describe('a line whose members are text', () => {
  it('is the line that the log itself makes of them', () => {
    const { log, line, lines, parsed, feed } = logged('info');
    log.info({ requestId: 'r1', status: 201, alterations: [{ field: 'a "b"' }] }, 'accepted');
    line('"requestId":"r1","status":201,"alterations":[{"field":"a \\"b\\""}]', 'accepted');
    const [made, written] = parsed();
    expect(written).toEqual(made);
    expect(Object.keys(written ?? {})).toEqual(Object.keys(made ?? {}));
    expect(lines[1]?.endsWith('}\n')).toBe(true);
    expect(feed.tail(2)).toEqual(lines.map((text) => text.trimEnd()));
  });

  it('is left out below the level of the log, and goes to a reader who asks for it', async () => {
    const { line, lines, feed } = logged('warn');
    line('"requestId":"r1"', 'accepted');
    expect(feed.tail(1)).toEqual([]);
    const reader = feed.follow('info');
    line('"requestId":"r2"', 'accepted');
    expect((await reader?.take())?.lines).toEqual([expect.stringContaining('"requestId":"r2"')]);
    expect(lines).toEqual([]);
  });
});
