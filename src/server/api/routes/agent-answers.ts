import type { container } from '../../../core/contract/answers/deployment.ts';
import { type Answer, exactly } from '../../../core/schema/shape.ts';
import { fieldText } from '../../../core/model/values.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import {
  RENEWALS_FEATURE,
  type StreamOperation,
  type VolumeMeasurement,
} from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { parseVolumeMeasurement } from '../../agents/sessions/agent-message.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { sizeOf } from '../../agents/streams/streams.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { orderedPageOf, pageReply, pageRequest } from '../paging.ts';
import type { ReplyTo, RequestFor } from '../route.ts';

const DEADLINE_MS = 10_000;
const NOT_CONNECTED = 'its agent is not connected';
const MAX_CONTAINERS = 10_000;
/** What an agent lists is held until its reader has taken it. */
const MAX_LISTED_BYTES = 4 * 2 ** 20;

export function agentUnreachable(node: string, why = `The agent of ${node} is not connected.`): Rejection {
  return {
    ...reject('agent_unreachable', { field: 'node', received: received(node), why }),
    retryAfterSeconds: 5,
  };
}

/** For what only agents know that say so: it has to be connected, and of such a release. */
export function unfit(store: TenantStore, dispatch: Dispatch, node: string): Rejection | undefined {
  if (!dispatch.connected(store.tenantId, node)) return agentUnreachable(node);
  const { features = [] } = store.get('nodes', idOf('nodes', node))?.record ?? {};
  return features.includes(RENEWALS_FEATURE)
    ? undefined
    : agentUnreachable(
        node,
        `The agent of ${node} is of an older release, which cannot do this; upgrade it.`,
      );
}

const asContainer = exactly<Answer<typeof container>>();

/** The agent strips the environment; a container's variables are its secrets, so they are stripped here again. */
function withoutEnvironment(container: unknown): Readonly<Record<string, unknown>> {
  if (typeof container !== 'object' || container === null || Array.isArray(container)) return {};
  return Object.fromEntries(Object.entries(container).filter(([key]) => !/^env(?:ironment)?$/i.test(key)));
}

/** Everything that the agent lists in answer, up to a bound; a text: why not. */
export async function asked(
  dispatch: Dispatch,
  tenantId: TenantId,
  node: string,
  operation: StreamOperation,
  deadlineMs = DEADLINE_MS,
): Promise<readonly unknown[] | string> {
  const stream = dispatch.stream(tenantId, node, operation);
  if (stream === undefined) return NOT_CONNECTED;
  const timer = setTimeout(() => stream.cancel('deadline', `no answer within ${deadlineMs} ms`), deadlineMs);
  const found: unknown[] = [];
  let bytes = 0;
  try {
    for await (const item of stream) {
      const { value } = item;
      bytes += sizeOf(item);
      found.push(...(Array.isArray(value) ? value : value === undefined ? [] : [value]));
      if (found.length > MAX_CONTAINERS || bytes > MAX_LISTED_BYTES) break;
    }
  } finally {
    clearTimeout(timer);
  }
  const problem = stream.end?.error;
  if (problem !== undefined && found.length <= MAX_CONTAINERS && bytes <= MAX_LISTED_BYTES)
    return problem.message;
  return found.slice(0, MAX_CONTAINERS);
}

async function listed(
  dispatch: Dispatch,
  tenantId: TenantId,
  node: string,
  operation: StreamOperation,
): Promise<readonly unknown[] | Rejection> {
  const found = await asked(dispatch, tenantId, node, operation);
  if (found === NOT_CONNECTED) return agentUnreachable(node);
  if (typeof found === 'string')
    return agentUnreachable(node, `The agent of ${node} did not answer: ${found}.`);
  return found;
}

/** What the primary of a volume holds at this moment, or why that cannot be said. */
export async function measuredVolume(
  dispatch: Dispatch,
  tenantId: TenantId,
  node: string,
  volumeId: string,
): Promise<VolumeMeasurement | string> {
  const found = await listed(dispatch, tenantId, node, { kind: 'volume-measure', volumeId });
  if (isRejection(found)) return found.why;
  return parseVolumeMeasurement(found[0]) ?? `The agent of ${node} did not answer with a measurement.`;
}

/** By name; engines have each once, which is not taken on an agent's word. */
function containerId(container: unknown): string {
  return `${fieldText(container, 'name') ?? ''}\n${fieldText(container, 'id') ?? ''}`;
}

export async function readContainers(
  dispatch: Dispatch,
  { store, query, params: { name } }: RequestFor<typeof NODES.listContainers>,
): Promise<ReplyTo<typeof NODES.listContainers>> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const found = await listed(dispatch, store.tenantId, name, { kind: 'containers' });
  if (isRejection(found)) return found;
  return pageReply(
    page,
    `/api/v1/nodes/${name}/containers`,
    query,
    orderedPageOf(page, found, containerId),
    containerId,
    (container) => asContainer(withoutEnvironment(container)),
  );
}

/** Names of the containers that are attached to a network of the tenant. */
export async function attachedContainers(
  dispatch: Dispatch,
  tenantId: TenantId,
  node: string,
  network: string,
): Promise<readonly string[] | Rejection> {
  const found = await listed(dispatch, tenantId, node, { kind: 'network-containers', network });
  return isRejection(found) ? found : found.map(received);
}
