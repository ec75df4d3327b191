import { isFinished, type JobRunState, type StoredRun } from '../../core/model/job-run.ts';
import type { DeploymentPhase } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { CONTAINER_PHASES } from '../../core/model/instance.ts';
import type { NodeLiveness, NodeRecord } from '../../core/model/node.ts';
import { isLeased, type VolumePhase, type VolumeRecord } from '../../core/model/volume.ts';
import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import { idOf, prefixOf, segmentsOf } from '../store/record-ids.ts';
import type { TenantRecords } from '../store/records.ts';
import { figuresOf, type StatusFigures } from '../store/status-figures.ts';
import type { StoreView, ViewChange } from '../store/view.ts';

/** `unconnected`: its agent has not connected yet; `not_ready`: its engine makes no containers; `lost`: its instances are replaced elsewhere. */
type NodeState = 'ready' | 'not_ready' | 'failed' | 'lost' | 'unconnected';
/** `None`: nothing was run yet. */
type JobState = JobRunState | 'None';

/** Every state that a record can be in, so that one that nothing is in is shown as 0. */
export const STATES = {
  deployments: [
    'Pending',
    'Waiting',
    'Progressing',
    'Running',
    'Degraded',
    'Stopped',
  ] satisfies DeploymentPhase[],
  instances: CONTAINER_PHASES,
  nodes: ['ready', 'not_ready', 'failed', 'lost', 'unconnected'] satisfies NodeState[],
  jobs: ['None', 'Pending', 'Running', 'Retrying', 'Succeeded', 'Failed', 'Cancelled'] satisfies JobState[],
  volumes: ['Pending', 'Materializing', 'Ready', 'Degraded', 'Deleting'] satisfies VolumePhase[],
} as const;

export type Tallied = keyof typeof STATES;

/** From this share on a volume is named before others. */
const NEARLY_FULL = 0.8;
const LAGGING_MS = 60_000;

export interface TenantTally {
  readonly states: Readonly<Record<Tallied, Map<string, number>>>;
  /** Of the current specs of all deployments. */
  readonly instances: { desired: number; placed: number; running: number; healthy: number };
  unhealthy: number;
  leased: number;
  /** Ids of records that somebody has to look at. */
  readonly trouble: Readonly<Record<Exclude<Tallied, 'instances'>, Set<string>>>;
  /** Ids of nodes whose machine runs out of something, or is broken. */
  readonly conditioned: Set<string>;
  /** By host, when its certificate ends in milliseconds, the first first; undefined: to be read again. */
  certificates: ReadonlyMap<string, number> | undefined;
}

interface StoredSize {
  records: number;
  bytes: number;
}

function emptyTally(): TenantTally {
  return {
    states: {
      deployments: new Map(),
      instances: new Map(),
      nodes: new Map(),
      jobs: new Map(),
      volumes: new Map(),
    },
    instances: { desired: 0, placed: 0, running: 0, healthy: 0 },
    unhealthy: 0,
    leased: 0,
    trouble: { deployments: new Set(), nodes: new Set(), jobs: new Set(), volumes: new Set() },
    conditioned: new Set(),
    certificates: undefined,
  };
}

/** While a spec is rolled out, or waits for what it depends on, fewer are placed although no node refused any. */
export function isUnplaced({ phase, desired, placed }: StatusFigures): boolean {
  return placed < desired && (phase === 'Pending' || phase === 'Degraded');
}

export function nodeState({ notReady }: NodeRecord, liveness: NodeLiveness | undefined): NodeState {
  if (liveness === undefined) return 'unconnected';
  if (liveness.lost === true) return 'lost';
  if (liveness.status === 'failed') return 'failed';
  return notReady === undefined ? 'ready' : 'not_ready';
}

/** The newest run that came to an end; a run under way says nothing of how the job fares. */
export function lastEnd(status: { readonly runs: readonly StoredRun[] } | undefined): StoredRun | undefined {
  return status?.runs.findLast((run) => isFinished(run));
}

/** Of a node that says it is the primary, in the epoch of the record. */
export function isOfPrimary({ epoch, primaryNodeId }: VolumeRecord, seen: SeenVolume, node: string): boolean {
  return seen.role === 'primary' && seen.epoch === epoch && node === primaryNodeId;
}

function isNotable(seen: SeenVolume): boolean {
  const { usedBytes = 0, sizeBytes = 0, copies = [], diverged = [] } = seen;
  return (
    diverged.length > 0 ||
    (sizeBytes > 0 && usedBytes / sizeBytes >= NEARLY_FULL) ||
    copies.some(({ ageMs = 0 }) => ageMs >= LAGGING_MS)
  );
}

/**
 * How many records of each tenant are in which state, kept up to date change by change: a scrape reads totals, and never walks the
 * records. Made before the view is loaded, so that the first reading of the store fills it.
 */
export class StateTallies {
  readonly #view: StoreView;
  readonly #tenants = new Map<TenantId, TenantTally>();
  readonly #sizes = new Map<string, StoredSize>();

  constructor(view: StoreView) {
    this.#view = view;
    view.onChange((change) => this.#take(change));
  }

  /** In the order in which they were first seen. */
  tenants(): Iterable<readonly [TenantId, TenantTally]> {
    return this.#tenants;
  }

  /** Undefined: nothing of it was ever stored. */
  of(tenantId: TenantId): TenantTally | undefined {
    return this.#tenants.get(tenantId);
  }

  /** Records of the view by kind. */
  sizes(): ReadonlyMap<string, StoredSize> {
    return this.#sizes;
  }

  certificates(tenantId: TenantId): ReadonlyMap<string, number> {
    const tally = this.#tally(tenantId);
    tally.certificates ??= this.#readCertificates(tenantId);
    return tally.certificates;
  }

  #tally(tenantId: TenantId): TenantTally {
    let tally = this.#tenants.get(tenantId);
    if (tally === undefined) {
      tally = emptyTally();
      this.#tenants.set(tenantId, tally);
    }
    return tally;
  }

  #record<K extends keyof TenantRecords>(
    tenantId: TenantId,
    kind: K,
    id: string,
  ): TenantRecords[K] | undefined {
    return this.#view.tenant(tenantId, kind).get(id)?.record;
  }

  #take(change: ViewChange): void {
    this.#size(change);
    switch (change.kind) {
      case 'tenants':
        if (change.after === undefined) this.#tenants.delete(segmentsOf(change.kind, change.id)[0]);
        break;
      case 'deployments':
        this.#deployment(change);
        break;
      case 'deployment-status':
        this.#deploymentStatus(change);
        break;
      case 'instances':
      case 'observations':
        this.#instance(change);
        break;
      case 'nodes':
      case 'node-liveness':
        this.#node(change);
        break;
      case 'jobs':
      case 'job-status':
        this.#job(change);
        break;
      case 'volumes':
      case 'volume-observations':
        this.#volume(change);
        break;
      case 'ingress-reports':
        this.#tally(change.tenantId).certificates = undefined;
        break;
      default:
    }
  }

  #size({ kind, before, after }: ViewChange): void {
    let size = this.#sizes.get(kind);
    if (size === undefined) {
      size = { records: 0, bytes: 0 };
      this.#sizes.set(kind, size);
    }
    size.records += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    size.bytes += (after?.bytes ?? 0) - (before?.bytes ?? 0);
  }

  #move(tally: TenantTally, of: Tallied, was: string | undefined, is: string | undefined): void {
    if (was === is) return;
    const counts = tally.states[of];
    if (was !== undefined) counts.set(was, (counts.get(was) ?? 0) - 1);
    if (is !== undefined) counts.set(is, (counts.get(is) ?? 0) + 1);
  }

  #note(ids: Set<string>, id: string, isTrouble: boolean): void {
    if (isTrouble) ids.add(id);
    else ids.delete(id);
  }

  /** Most changes of it are new specs, which move nothing here. */
  #deployment({ tenantId, id, before, after }: ViewChange<'deployments'>): void {
    if ((before === undefined) === (after === undefined)) return;
    const stored = this.#view.tenant(tenantId, 'deployment-status').get(id);
    const status = stored && figuresOf(stored);
    const phase = status?.phase ?? 'Pending';
    const tally = this.#tally(tenantId);
    this.#move(tally, 'deployments', before && phase, after && phase);
    this.#count(tally, status, after === undefined ? -1 : 1);
    this.#judgeDeployment(tally, id, after && status);
  }

  #deploymentStatus({ tenantId, id, before, after }: ViewChange<'deployment-status'>): void {
    if (this.#view.tenant(tenantId, 'deployments').get(id) === undefined) return;
    const tally = this.#tally(tenantId);
    const was = before && figuresOf(before);
    const is = after && figuresOf(after);
    this.#move(tally, 'deployments', was?.phase ?? 'Pending', is?.phase ?? 'Pending');
    this.#count(tally, was, -1);
    this.#count(tally, is, 1);
    this.#judgeDeployment(tally, id, is);
  }

  #count({ instances }: TenantTally, status: StatusFigures | undefined, sign: 1 | -1): void {
    if (status === undefined) return;
    instances.desired += sign * status.desired;
    instances.placed += sign * status.placed;
    instances.running += sign * status.running;
    instances.healthy += sign * status.healthy;
  }

  #judgeDeployment({ trouble }: TenantTally, id: string, status: StatusFigures | undefined): void {
    const isTrouble = status !== undefined && (status.phase === 'Degraded' || isUnplaced(status));
    this.#note(trouble.deployments, id, isTrouble);
  }

  #instance(change: ViewChange<'instances' | 'observations'>): void {
    const { tenantId, id } = change;
    const tally = this.#tally(tenantId);
    if (change.kind === 'instances') {
      const { before, after } = change;
      if ((before === undefined) === (after === undefined)) return;
      const seen = this.#record(tenantId, 'observations', id);
      const phase = seen?.phase ?? 'pending';
      this.#move(tally, 'instances', before && phase, after && phase);
      if (seen?.health === 'unhealthy') tally.unhealthy += after === undefined ? -1 : 1;
      return;
    }
    if (this.#view.tenant(tenantId, 'instances').get(id) === undefined) return;
    const [was, is] = [change.before?.record, change.after?.record];
    this.#move(tally, 'instances', was?.phase ?? 'pending', is?.phase ?? 'pending');
    tally.unhealthy += (is?.health === 'unhealthy' ? 1 : 0) - (was?.health === 'unhealthy' ? 1 : 0);
  }

  #node(change: ViewChange<'nodes' | 'node-liveness'>): void {
    const { tenantId, id } = change;
    const tally = this.#tally(tenantId);
    const node = this.#record(tenantId, 'nodes', id);
    const liveness = this.#record(tenantId, 'node-liveness', id);
    const isOfNode = change.kind === 'nodes';
    const nodeBefore = isOfNode ? change.before?.record : node;
    const livenessBefore = isOfNode ? liveness : change.before?.record;
    const is = node && nodeState(node, liveness);
    this.#move(tally, 'nodes', nodeBefore && nodeState(nodeBefore, livenessBefore), is);
    this.#note(tally.trouble.nodes, id, is !== undefined && is !== 'ready');
    this.#note(tally.conditioned, id, node?.conditions !== undefined);
  }

  #job(change: ViewChange<'jobs' | 'job-status'>): void {
    const { tenantId, id } = change;
    const tally = this.#tally(tenantId);
    const status = this.#record(tenantId, 'job-status', id);
    const is = status?.runs.at(-1)?.state ?? 'None';
    if (change.kind === 'jobs') this.#move(tally, 'jobs', change.before && is, change.after && is);
    else if (this.#view.tenant(tenantId, 'jobs').get(id) !== undefined)
      this.#move(tally, 'jobs', change.before?.record.runs.at(-1)?.state ?? 'None', is);
    const isThere = this.#view.tenant(tenantId, 'jobs').get(id) !== undefined;
    this.#note(tally.trouble.jobs, id, isThere && lastEnd(status)?.state === 'Failed');
  }

  #volume(change: ViewChange<'volumes' | 'volume-observations'>): void {
    const tally = this.#tally(change.tenantId);
    if (change.kind === 'volumes') {
      const [was, is] = [change.before?.record, change.after?.record];
      this.#move(tally, 'volumes', was?.phase, is?.phase);
      tally.leased += (is && isLeased(is) ? 1 : 0) - (was && isLeased(was) ? 1 : 0);
    }
    const [volume] = segmentsOf(change.kind, change.id);
    const id = idOf('volumes', volume);
    const record = this.#record(change.tenantId, 'volumes', id);
    const seen = this.#view
      .tenant(change.tenantId, 'volume-observations')
      .listUnder(prefixOf('volume-observations', volume));
    const isTrouble =
      record !== undefined && (record.phase === 'Degraded' || seen.some((one) => isNotable(one.record)));
    this.#note(tally.trouble.volumes, id, isTrouble);
  }

  #readCertificates(tenantId: TenantId): ReadonlyMap<string, number> {
    const ends = new Map<string, number>();
    for (const { record } of this.#view.tenant(tenantId, 'ingress-reports').list())
      for (const { host, certificate } of record.routes) {
        const endMs = Date.parse(certificate?.notAfter ?? '');
        if (host !== undefined && endMs < (ends.get(host) ?? Infinity)) ends.set(host, endMs);
      }
    return new Map([...ends].sort((a, b) => a[1] - b[1]));
  }
}
