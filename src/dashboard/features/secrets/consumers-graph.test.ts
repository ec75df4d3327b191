import { describe, expect, it } from 'vitest';
import { graphOf } from './consumers-graph.ts';
import { sourcesOf } from './readers.ts';

function path(name: string, exists = true) {
  return {
    name,
    namespace: 'resources',
    path: `resources/${name}`,
    exists,
    keys: [],
    version: 1,
    consumers: 1,
  };
}

const reads = (...names: string[]) => names.map((name) => ({ vault_path: `resources/${name}` }) as never);

describe('the graph of consumers', () => {
  const sources = sourcesOf(
    [path('db'), path('mail', false)],
    [
      { name: 'web', secrets: reads('db', 'mail') },
      { name: 'cache', secrets: reads() },
    ],
    [{ name: 'report', secrets: reads('db') }],
  );

  it('has a line for every path that something reads', () => {
    const { lines, readers, rows } = graphOf(sources);
    expect(readers.map(({ name }) => name)).toEqual(['job report', 'web']);
    expect(lines).toEqual([
      { from: 0, to: 0, exists: true },
      { from: 0, to: 1, exists: true },
      { from: 1, to: 1, exists: false },
    ]);
    expect(rows).toBe(2);
  });
});
