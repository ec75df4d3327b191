import type { TenantId } from '../../../core/model/ids.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Dispatch } from '../../dispatch/dispatch.ts';
import type { Reply } from '../route.ts';

const CONTAINERS_DEADLINE_MS = 10_000;
const MAX_CONTAINERS = 10_000;

export function agentUnreachable(node: string, why = `The agent of ${node} is not connected.`): Rejection {
  return {
    ...reject('agent_unreachable', { field: 'node', received: received(node), why }),
    retryAfterSeconds: 5,
  };
}

/** The agent strips the environment; a container's variables are its secrets, so they are stripped here again. */
function withoutEnvironment(container: unknown): unknown {
  if (typeof container !== 'object' || container === null || Array.isArray(container)) return container;
  return Object.fromEntries(Object.entries(container).filter(([key]) => !/^env(?:ironment)?$/i.test(key)));
}

export async function readContainers(dispatch: Dispatch, tenantId: TenantId, node: string): Promise<Reply> {
  const stream = dispatch.stream(tenantId, node, { kind: 'containers' });
  if (stream === undefined) return agentUnreachable(node);
  const timer = setTimeout(
    () => stream.cancel('deadline', `no answer within ${CONTAINERS_DEADLINE_MS} ms`),
    CONTAINERS_DEADLINE_MS,
  );
  const containers: unknown[] = [];
  try {
    for await (const { value } of stream) {
      containers.push(...(Array.isArray(value) ? value : value === undefined ? [] : [value]));
      if (containers.length > MAX_CONTAINERS) break;
    }
  } finally {
    clearTimeout(timer);
  }
  const problem = stream.end?.error;
  if (problem !== undefined && containers.length <= MAX_CONTAINERS)
    return agentUnreachable(node, `The agent of ${node} did not answer: ${problem.message}.`);
  return { status: 200, body: containers.slice(0, MAX_CONTAINERS).map(withoutEnvironment) };
}
