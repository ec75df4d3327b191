import type { FilterName } from '../core/scheduler/filters/filter.ts';
import { type Client, deploymentPath, type Json } from './client.ts';
import { listOf, mapOf, numberOf, textOf, textsOf } from './fields.ts';

/** What passes without anybody doing something: an agent comes back, a copy is promoted, a node that failed is tried again. */
const PASSING: readonly FilterName[] = ['session', 'volume', 'excluded'];

/** Some instances have no node, and none of an earlier version is about to make room for them. */
export function isUnplaced(record: Json): boolean {
  const hash = textOf(record, 'specHash');
  const instances = listOf(record, 'status.instances');
  return (
    (numberOf(record, 'status.placed') ?? 0) < (numberOf(record, 'status.desired') ?? 0) &&
    ['Pending', 'Waiting', 'Degraded'].includes(textOf(record, 'status.phase')) &&
    instances.every((instance) => textOf(instance, 'specHash') === hash)
  );
}

/** Every node with every reason; undefined when one more instance has a place, or waits for something else than a node. */
export async function refusedNodes(client: Client, name: string): Promise<readonly Json[] | undefined> {
  const answer = await client.call({ path: `${deploymentPath(name)}/explain` });
  if (!answer.ok) return undefined;
  const explanation = answer.body as Json;
  const placed = textOf(mapOf(explanation, 'chosen'), 'node') !== '';
  return placed || textsOf(explanation, 'waitingFor').length > 0 ? undefined : listOf(explanation, 'nodes');
}

/** Waiting longer would not help: each node has a reason that somebody has to take away, or there is no node. */
export function isLasting(nodes: readonly Json[]): boolean {
  return nodes.every((node) =>
    listOf(node, 'reasons').some((reason) => !PASSING.some((filter) => filter === textOf(reason, 'filter'))),
  );
}
