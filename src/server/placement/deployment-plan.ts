import { fieldDifferences } from '../../core/contract/diff.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import { NOT_HASHED, snapshotOf } from '../../core/model/spec-snapshot.ts';
import { type InstanceAction, instanceActions } from '../../core/plan/rollout/instance-actions.ts';
import { type InstanceState, instanceState } from '../../core/plan/rollout/instance-state.ts';
import { isOfCanary } from '../../core/plan/rollout/instances.ts';
import {
  budgetOf,
  dispensable,
  groupByStanding,
  type Groups,
  isSingleWriter,
} from '../../core/plan/rollout/rollout.ts';
import { misplacedMessage } from '../../core/scheduler/misplaced.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { nodeCondition, observationsOf } from './deployment-gates.ts';
import { type PlacementPlan, planPlacement } from './explanation.ts';
import { noRoomBeside } from './stop-first.ts';
import type { TenantClusters } from './tenant-clusters.ts';
import { isFenced, staysWithVolume } from './volume-writers.ts';

export interface DeploymentPlan extends PlacementPlan {
  /** What happens to each instance, and why. */
  readonly actions: readonly InstanceAction[];
}

/** What storing the record would do to what runs, decided by what the controller decides by; nothing is stored or kept. */
export function planDeployment(
  clusters: TenantClusters,
  tenant: TenantStore,
  before: DeploymentRecord | undefined,
  after: DeploymentRecord,
): DeploymentPlan {
  const { spec, specHash } = after;
  const id = prefixOf('instances', spec.name);
  const records = tenant.collection('instances').listUnder(id);
  const canary = tenant.get('canaries', idOf('canaries', spec.name))?.record;
  const beside = canary && { ...after, spec: canary.spec, specHash: canary.specHash };
  const stateIn = statesIn(clusters, tenant);
  const [ofCanary, own] = partition(records, ({ record }) => isOfCanary(record, after));
  const groups = groupByStanding(own.map(({ record }) => stateIn(record, after)));
  const kept = new Set(groups.keep.map(({ record }) => record.id));
  const successors = successorsOf(clusters, tenant, spec, groups);
  const placement = planPlacement(clusters, tenant, spec, specHash, {
    stays: (record) => kept.has(record.id),
    beside: successors.blocked,
  });
  const actions = instanceActions({
    desired: spec.replicas,
    desiredBefore: before?.spec.replicas,
    groups,
    canary: ofCanary.flatMap(({ record }) =>
      record.wanted === 'run' ? [stateIn(record, beside ?? after)] : [],
    ),
    canaryEnds: canary === undefined || before?.specHash !== specHash || spec.replicas === 0,
    places: placement.instances.map(({ node }) => node),
    stopFirst: successors.stopFirst,
    changedOf: ({ record }) => changedFields(tenant, record, after),
  });
  return { ...placement, actions };
}

interface Successors {
  /** Why each old instance stops before its successor starts. */
  readonly stopFirst?: string;
  /** There is room beside no old instance, and none of them may stop for it. */
  readonly blocked: boolean;
}

/** As the planner goes about an update: beside the old ones where there is room, in their place where one of them may go. */
function successorsOf(
  clusters: TenantClusters,
  tenant: TenantStore,
  spec: DeploymentSpec,
  groups: Groups,
): Successors {
  if (groups.leave.length === 0 || groups.keep.length >= spec.replicas) return { blocked: false };
  if (isSingleWriter(spec))
    return { blocked: false, stopFirst: 'it stops first: it writes to a volume, and two must not' };
  const cluster = clusters.of(tenant.tenantId);
  const request = clusters.request(tenant.tenantId, spec, tenant);
  const noRoom = noRoomBeside(cluster, request, spec, {
    old: groups.leave.map(({ record }) => record.id),
    kept: groups.keep.length,
  });
  if (noRoom?.stopsFirst === true) return { blocked: false, stopFirst: `it stops first: ${noRoom.why}` };
  if (noRoom) return { blocked: true };
  if (cluster.choose(request) !== undefined) return { blocked: false };
  return dispensable(groups, budgetOf(spec.replicas, spec.update)).length > 0
    ? { blocked: false, stopFirst: 'it stops first: no node has room for both' }
    : { blocked: true };
}

function statesIn(
  clusters: TenantClusters,
  tenant: TenantStore,
): (record: InstanceRecord, deployment: DeploymentRecord) => InstanceState {
  return (record, deployment) => {
    const { name } = deployment.spec;
    const own = tenant.get('specs', idOf('specs', name, record.specHash))?.record;
    return instanceState(record, {
      deployment,
      specs: new Map(own && [[record.specHash, own]]),
      nodeOf: (node) => nodeCondition(tenant, node),
      observationOf: observationsOf(tenant, prefixOf('instances', name)),
      fencedOf: (instance) => isFenced(tenant, own, instance),
      staysOf: (instance) => staysWithVolume(tenant, own, instance),
      misplacedOf: ({ nodeId }) =>
        misplacedMessage(clusters.misplaced(tenant.tenantId, deployment.spec, nodeId)),
      memoryOf: () => undefined,
      complete: true,
      nowMs: 0,
    });
  };
}

/** Of those that make another container; the bytes of an image are told only where its name stays. */
function changedFields(
  tenant: TenantStore,
  { specHash }: InstanceRecord,
  after: DeploymentRecord,
): readonly string[] {
  if (specHash === after.specHash) return [];
  const own = tenant.get('specs', idOf('specs', after.spec.name, specHash))?.record;
  if (own === undefined) return [];
  const fields = fieldDifferences(own, snapshotOf(after)).map(({ field }) => field);
  const told = fields.filter((field) => !NOT_HASHED.some((one) => one === field.split('.', 1)[0]));
  return fields.includes('image') ? told.filter((field) => field !== 'imageDigest') : told;
}

function partition<T>(
  items: readonly T[],
  belongs: (item: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}
