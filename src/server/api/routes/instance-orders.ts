import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { INSTANCE_SIGNALS } from '../../../core/model/stop.ts';
import { INSTANCES } from '../../../core/operations/instances.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { INSTANCES_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { nearest } from '../../../core/schema/nearest.ts';
import { exactly } from '../../../core/schema/shape.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { instanceNotFound } from '../../reads/instance.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Admission } from '../../writes/admission.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { downWarnings, notRunning, orderInstance } from '../../writes/deployments/order-instance.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { agentUnreachable, asked } from './agent-answers.ts';

type Ordered = typeof INSTANCES.restart | typeof INSTANCES.stop;
const asOrdered = exactly<AnswerOf<typeof INSTANCES.signal>>();

/** Unless they end it, programs answer these and go on. */
const GOES_ON: ReadonlySet<string> = new Set(['SIGCONT', 'SIGWINCH', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']);

interface Found {
  readonly deployment: DeploymentRecord;
  readonly instance: InstanceRecord;
}

/** The instance, if its agent can be told now: an order that waits for a node to come back would surprise whoever forgot it. */
function reached(
  { store, params }: Pick<RequestFor<Ordered>, 'store' | 'params'>,
  dispatch: Dispatch,
): Found | Rejection {
  const { stored, field } = findDeployment(store, params.name);
  if (stored === undefined) return deploymentNotFound(field, params.name);
  const { name } = stored.record.spec;
  const instance = store.get('instances', idOf('instances', name, params.instance))?.record;
  if (instance === undefined) return instanceNotFound(params.instance);
  if (!dispatch.connected(store.tenantId, instance.nodeId))
    return agentUnreachable(
      instance.nodeId,
      `The agent of ${instance.nodeId} is not connected, so that the instance cannot be told anything; nothing was ordered.`,
    );
  return { deployment: stored.record, instance };
}

/** Undefined: its agent knows what it is asked for. */
export function outdated(
  store: TenantStore,
  node: string,
  feature = INSTANCES_FEATURE,
): Rejection | undefined {
  const { features = [], agentVersion = 'unknown' } = store.get('nodes', idOf('nodes', node))?.record ?? {};
  if (features.includes(feature)) return undefined;
  return reject('agent_outdated', {
    field: 'node',
    received: received(node),
    why: `The agent of ${node} is of release ${agentVersion}, which cannot do this; upgrade it.`,
  });
}

function unknownSignal(signal: string): Rejection | undefined {
  if (INSTANCE_SIGNALS.includes(signal)) return undefined;
  const near = nearest(`SIG${signal.slice(0, 32).toUpperCase().replace(/^SIG/, '')}`, INSTANCE_SIGNALS);
  return reject('signal_invalid', {
    field: 'signal',
    received: received(signal),
    expected: `one of: ${INSTANCE_SIGNALS.join(', ')}`,
    why: `No signal of this name can be sent${near === undefined ? '.' : `; did you mean ${near}?`}`,
  });
}

/** On record before it is sent: what could not be written down is not done. */
async function signal(
  { journal }: Admission,
  dispatch: Dispatch,
  request: RequestFor<typeof INSTANCES.signal>,
): Promise<ReplyTo<typeof INSTANCES.signal>> {
  const { store, caller } = request;
  const { signal: named = '' } = request.body;
  const unknown = unknownSignal(named);
  if (unknown) return unknown;
  const found = reached(request, dispatch);
  if (isRejection(found)) return found;
  const { id, deployment, nodeId } = found.instance;
  const old = outdated(store, nodeId);
  if (old) return old;
  const phase = store.get('observations', idOf('observations', deployment, id))?.record.phase;
  if (phase !== 'running')
    return notRunning(id, `Its state is ${phase ?? 'pending'}; a signal needs one that runs.`);
  const subject = { kind: 'Instance', name: id } as const;
  const details = { deployment, node: nodeId, signal: named };
  const asking = store.transaction();
  journal.audit(asking, store.tenantId, caller, 'instance.signalled', subject, details);
  await store.commit(asking);
  const answer = await asked(dispatch, store.tenantId, nodeId, {
    kind: 'signal',
    instanceId: id,
    signal: named,
  });
  if (typeof answer === 'string')
    return agentUnreachable(nodeId, `The agent of ${nodeId} did not send it: ${received(answer)}.`);
  const telling = store.transaction();
  journal.event(telling, store.tenantId, {
    kind: 'instance.signalled',
    subject,
    message: `instance ${id} of ${deployment} on ${nodeId} was sent ${named}, as was asked for`,
    details,
  });
  await store.commit(telling);
  return {
    status: 200,
    body: asOrdered({
      instance: id,
      deployment,
      nodeId,
      order: 'signal',
      signal: named,
      message: `${named} was sent; if its container ends, it is started again`,
      alterations: [],
      warnings: GOES_ON.has(named) ? [] : downWarnings(store, found.deployment, found.instance),
      removed: [],
    }),
  };
}

export function instanceOrderRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  const order = async (kind: 'restart' | 'stop', request: RequestFor<Ordered>) => {
    const found = reached(request, dispatch);
    if (isRejection(found)) return found;
    const { name, instance } = request.params;
    return writeReply(await orderInstance(admission, request.caller, name, instance, kind));
  };
  return [
    serve(INSTANCES.restart, (request) => order('restart', request)),
    serve(INSTANCES.stop, (request) => order('stop', request)),
    serve(INSTANCES.signal, (request) => signal(admission, dispatch, request)),
  ];
}
