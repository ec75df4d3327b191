import { expect, it } from 'vitest';
import type { Deployment, Job, Node } from '../../lib/records.ts';
import { placesOf } from './cells.ts';

const read = <T>(value: unknown): T => JSON.parse(JSON.stringify(value));

it('puts every instance on its node, jobs that run beside them, and what waits first', () => {
  const nodes = read<Node[]>([
    { name: 'n1', status: 'ready', schedulable: true },
    { name: 'n2', status: 'failed', schedulable: true },
  ]);
  const deployments = read<Deployment[]>([
    {
      name: 'web',
      status: {
        phase: 'Degraded',
        desired: 5,
        placed: 4,
        instances: [
          { id: 'a', nodeId: 'n1', state: 'running', health: 'healthy' },
          { id: 'b', nodeId: 'n1', state: 'running', health: 'starting', canary: true },
          { id: 'c', nodeId: 'n1', state: 'exited' },
          { id: 'd', nodeId: 'n2', state: 'running', nodeStatus: 'failed' },
        ],
      },
    },
  ]);
  const jobs = read<Job[]>([
    { name: 'report', status: { runs: [{ id: 'r', nodeId: 'n1', state: 'Running' }] } },
    { name: 'over', status: { runs: [{ id: 's', nodeId: 'n1', state: 'Succeeded' }] } },
  ]);
  const places = placesOf(nodes, deployments, jobs);
  expect(places.map(({ name, cells }) => [name, cells.map(({ kind }) => kind).join(' ')])).toEqual([
    ['On no node', 'unplaced'],
    ['n1', 'well starting failed job'],
    ['n2', 'unknown'],
  ]);
  expect(places[1]?.cells[1]).toMatchObject({ isCanary: true, to: '/deployments/web/instances/b' });
  expect(placesOf(nodes, deployments, jobs).map(({ sign }) => sign)).toEqual(places.map(({ sign }) => sign));
});
