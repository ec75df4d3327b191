import { describe, expect, it } from 'vitest';
import { explain } from '../../core/scheduler/explain.ts';
import { clusterSample, nodeSample, requestSample } from '../../../test/support/samples/cluster.ts';
import { refusalOf } from './refusal.ts';

const REQUEST = requestSample({ cpu: 100, placement: { residency: { country: 'DE' } } });

function refusalOn(count: number) {
  const nodes = Array.from({ length: count }, (_, n) =>
    nodeSample(`node-${n}`, { cpu: 1 + (n % 7), labels: { 'berth.io/country': n % 2 === 0 ? 'FR' : 'US' } }),
  );
  return refusalOf(explain(clusterSample({}, ...nodes), REQUEST));
}

describe('a refusal', () => {
  it('lists every node with every reason', () => {
    const { details, residency, summary } = refusalOn(2);
    expect(details).toMatchObject({
      nodes: [
        {
          node: 'node-0',
          reasons: [{ filter: 'country', required: 'DE', reported: 'FR' }, { filter: 'capacity' }],
        },
        {
          node: 'node-1',
          reasons: [{ filter: 'country', required: 'DE', reported: 'US' }, { filter: 'capacity' }],
        },
      ],
    });
    expect(residency).toBe(true);
    expect(summary).toBe(
      'country DE: 2 nodes are elsewhere; 100 cores: 2 nodes have less free (node-1 has 2 cores)',
    );
  });

  it('names every node of a large tenant, those with the same reasons together', () => {
    const { details, message } = refusalOn(5000);
    const groups = details['groups'] as { nodes: string[]; reasons: { reported: string }[] }[];
    expect(groups.map(({ nodes, reasons }) => [nodes.length, reasons[0]?.reported])).toEqual([
      [2500, 'FR'],
      [2500, 'US'],
    ]);
    expect(new Set(groups.flatMap(({ nodes }) => nodes)).size).toBe(5000);
    expect(message).toBe(
      'country DE: 5000 nodes are elsewhere; 100 cores: 5000 nodes have less free (node-1000 has 7 cores); every node with its reasons is in the details',
    );
    // Both together stay within one request of etcd, 1.5 MiB, many times over.
    expect(JSON.stringify({ message, details }).length).toBeLessThan(300_000);
  });

  it('has the same digest while only free amounts move', () => {
    const short = (cpu: number) =>
      refusalOf(explain(clusterSample({}, nodeSample('n1', { cpu })), requestSample({ cpu: 100 }))).digest;
    expect(short(1)).toBe(short(2));
  });
});
