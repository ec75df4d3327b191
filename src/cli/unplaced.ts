import type { FilterName } from '../core/scheduler/filters/filter.ts';
import { type Client, named } from './client.ts';
import { textOf } from './fields.ts';
import type { Deployment, Explanation, RefusedNode } from './records.ts';

/** What passes without anybody doing something: an agent comes back, a copy is promoted, a node that failed is tried again. */
const PASSING: readonly FilterName[] = ['session', 'backlog', 'volume', 'excluded'];

/** Some instances have no node, and none of an earlier version is about to make room for them. */
export function isUnplaced(record: Deployment): boolean {
  const hash = textOf(record.specHash);
  const instances = record.status?.instances ?? [];
  return (
    (record.status?.placed ?? 0) < (record.status?.desired ?? 0) &&
    ['Pending', 'Waiting', 'Degraded'].includes(textOf(record.status?.phase)) &&
    instances.every((instance) => textOf(instance.specHash) === hash)
  );
}

/** What keeps how many nodes, and the first of them; undefined when one more instance has a place, or waits for something else than a node. */
export async function refusedNodes(client: Client, name: string): Promise<Explanation | undefined> {
  const answer = await client.attempt('GET /api/v1/deployments/{name}/explain', named(name));
  if (!answer.ok) return undefined;
  const explanation = answer.body;
  return textOf(explanation.chosen?.node) !== '' || (explanation.waitingFor ?? []).length > 0
    ? undefined
    : explanation;
}

/** All nodes of an explanation, those with the same reasons as one. */
export function refusingNodes({ refused }: Explanation): readonly RefusedNode[] {
  return (refused ?? []).map(({ filters = [] }) => ({ reasons: filters.map((filter) => ({ filter })) }));
}

/** Waiting longer would not help: each node has a reason that an operator has to remove, or there is no node. */
export function isLasting(nodes: readonly RefusedNode[]): boolean {
  return nodes.every((node) =>
    (node.reasons ?? []).some((reason) => !PASSING.some((filter) => filter === textOf(reason.filter))),
  );
}
