import type { InstanceRecord } from '../../../core/model/instance.ts';
import { instanceName } from '../../../core/model/instance-name.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import { openOrder } from '../../../core/plan/rollout/instance-orders.ts';
import { isIntegerWithin, recordsIn } from '../../../core/model/values.ts';
import { pinOf } from '../../../core/model/spec-snapshot.ts';
import type { INSTANCES } from '../../../core/operations/instances.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { type Exactly, exactly } from '../../../core/schema/shape.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { failuresOf } from '../../reads/failure.ts';
import { instanceView } from '../../reads/instance.ts';
import { lastSeenOf } from '../../reads/node.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { asked } from './agent-answers.ts';
import { outdated } from './instance-orders.ts';

type Detail = AnswerOf<typeof INSTANCES.read>;
const asDetail = exactly<Detail>();

/** Everything that is known of one instance; what only its agent knows is absent while that cannot be asked. */
export async function instanceDetail(
  store: TenantStore,
  dispatch: Dispatch,
  deployment: DeploymentRecord,
  stored: Stored<InstanceRecord>,
): Promise<Exactly<Detail>> {
  const { id, record } = stored;
  const spec = store.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
  const given = store.get('secret-deliveries', id)?.record.versions ?? {};
  const usage = (await dispatch.usageOn(store.tenantId, [record.nodeId])).get(record.id);
  return asDetail({
    ...instanceView(store, stored, usage),
    name: instanceName(record.deployment, record.id),
    current: record.specHash === deployment.specHash,
    ...(spec && { image: spec.image, ...pinOf(spec.imageDigest) }),
    secrets: Object.entries(given).map(([path, versions]) => ({ path, ...versions })),
    node: nodeOf(store, dispatch, record.nodeId),
    ...orderOf(deployment, record),
    ...(await checksOf(store, dispatch, record)),
    failures: failuresOf(store, deployment)
      .filter(({ instance }) => instance === record.id)
      .map(({ key: _own, ...one }) => one)
      .toReversed(),
  });
}

function orderOf(deployment: DeploymentRecord, record: InstanceRecord): Pick<Exactly<Detail>, 'order'> {
  const order = openOrder(record, deployment);
  return order === undefined ? {} : { order: { kind: order.kind, at: order.at } };
}

const ASKED_MS = 2_000;

/** From its agent, which has them redacted. A node is not trusted with their form. */
async function checksOf(
  store: TenantStore,
  dispatch: Dispatch,
  { id, nodeId, deployment, specHash }: InstanceRecord,
): Promise<Pick<Exactly<Detail>, 'checks'>> {
  const spec = store.get('specs', idOf('specs', deployment, specHash))?.record;
  if (spec?.healthCheck === undefined || outdated(store, nodeId) !== undefined) return {};
  const operation = { kind: 'health-checks', instanceId: id } as const;
  const answer = await asked(dispatch, store.tenantId, nodeId, operation, ASKED_MS);
  if (typeof answer === 'string') return {};
  return { checks: recordsIn(answer).slice(-MOST_CHECKS).map(checkOf) };
}

const MOST_CHECKS = 10;
const MOST_OUTPUT = 2_000;

function checkOf(said: Readonly<Record<string, unknown>>): NonNullable<Exactly<Detail>['checks']>[number] {
  const { at, exitCode, output } = said;
  return {
    at: typeof at === 'string' ? at.slice(0, 40) : '',
    ...(isIntegerWithin(exitCode, -1, 255) && { exitCode }),
    output: typeof output === 'string' ? output.slice(-MOST_OUTPUT) : '',
  };
}

function nodeOf(store: TenantStore, dispatch: Dispatch, name: string): Exactly<Detail>['node'] {
  const node = store.get('nodes', idOf('nodes', name))?.record;
  const liveness = store.get('node-liveness', idOf('node-liveness', name))?.record;
  return {
    name,
    status: liveness?.status ?? 'failed',
    connected: dispatch.connected(store.tenantId, name),
    lastSeenAt: lastSeenOf(dispatch.lastSeenAt(store.tenantId, name), liveness),
    ...(node && { agentVersion: node.agentVersion, engine: node.engine }),
  };
}
