import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { keysOf } from '../../core/model/values.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';
import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import { prefixOf, segmentsOf } from '../store/record-ids.ts';
import type { Store } from '../store/store.ts';
import { type Candidates, fairShare } from './fair-share.ts';
import { type Family, family, type Sample } from './family.ts';
import {
  isOfPrimary,
  isUnplaced,
  lastEnd,
  nodeState,
  STATES,
  type StateTallies,
  type Tallied,
  type TenantTally,
} from './state-tallies.ts';

/** Series that a family has at most where it names a tenant's records; the rest is counted in `berth_series_left_out`. */
export const MAX_NAMED = 2_000;
/** Tenants with series of their own; those of all others are added up. */
export const MAX_TENANTS = 1_000;
/** In no slug and no name of a record. */
export const OTHERS = '(other)';

export interface TenantFiguresOptions {
  readonly store: Store;
  readonly tallies: StateTallies;
  /** Of several control planes one tells the figures of a tenant: whoever decides for it. Sums over all of them are right so. */
  readonly owns: (tenantId: TenantId) => boolean;
  /** A node of such a machine takes no instances of a tenant: that it could not is no trouble. */
  readonly runsControlPlane: (node: NodeName) => boolean;
  /** The newest that this process knows of a volume on a node. */
  readonly seen: (tenantId: TenantId, volumeId: string, node: string) => SeenVolume | undefined;
}

interface OwnTenant {
  readonly id: TenantId;
  readonly slug: string;
  readonly tally: TenantTally;
}

/** Of one family, where some of what it would name is left out. */
type LeftOut = Map<string, number>;

const HELP: Readonly<Record<Tallied, readonly [label: string, help: string]>> = {
  deployments: ['phase', 'Deployments, by tenant and phase.'],
  instances: ['phase', 'Wanted containers, by tenant and the phase that their node last reported.'],
  nodes: ['state', 'Nodes, by tenant and state.'],
  jobs: ['state', 'Jobs, by tenant and the state of their newest run.'],
  volumes: ['phase', 'Volumes, by tenant and phase.'],
};

/** How the records of tenants stand: totals by state, and by name what somebody has to look at. */
export class TenantFigures {
  readonly #options: TenantFiguresOptions;
  readonly #leftOut: LeftOut = new Map();

  constructor(options: TenantFiguresOptions) {
    this.#options = options;
  }

  families(): readonly Family[] {
    return [
      ...this.#states(),
      ...this.#instances(),
      ...this.#problems(),
      ...this.#volumes(),
      this.#certificates(),
      family({
        name: 'berth_series_left_out',
        help: `What families that name records leave out beyond ${MAX_NAMED} series.`,
        labels: ['family'],
        read: () => [...this.#leftOut].map(([name, count]): Sample<'family'> => [{ family: name }, count]),
      }),
    ];
  }

  /** Those that this process decides for; one that is being erased has no figures any more. */
  #tenants(): readonly OwnTenant[] {
    const { store, tallies, owns } = this.#options;
    const found: OwnTenant[] = [];
    for (const [id, tally] of tallies.tenants()) {
      if (!owns(id)) continue;
      const slug = store.getGlobal('tenants', id)?.record.slug;
      if (slug !== undefined) found.push({ id, slug, tally });
    }
    return found;
  }

  #states(): readonly Family[] {
    return keysOf(HELP).map((of) => {
      const [label, help] = HELP[of];
      return family({
        name: `berth_${of}`,
        help,
        labels: ['tenant', label],
        read: () =>
          this.#summed(({ slug, tally }) =>
            tally.states[of].size === 0
              ? []
              : STATES[of].map((state) => [
                  { tenant: slug, [label]: state },
                  tally.states[of].get(state) ?? 0,
                ]),
          ),
      });
    });
  }

  #summed<Label extends string>(
    read: (tenant: OwnTenant) => readonly Sample<Label>[],
  ): readonly Sample<Label>[] {
    const tenants = this.#tenants();
    const sums = new Map<string, Sample<Label>>();
    for (const tenant of tenants.slice(MAX_TENANTS))
      for (const [labels, value] of read({ ...tenant, slug: OTHERS })) {
        const key = Object.values(labels).join(' ');
        sums.set(key, [labels, value + (sums.get(key)?.[1] ?? 0)]);
      }
    return [...tenants.slice(0, MAX_TENANTS).flatMap(read), ...sums.values()];
  }

  #instances(): readonly Family[] {
    return [
      family({
        name: 'berth_deployment_instances',
        help: 'Instances of the current specs of all deployments: desired, placed on a node, running and healthy.',
        labels: ['tenant', 'count'],
        read: () =>
          this.#summed(({ slug, tally: { instances, states } }) =>
            states.deployments.size === 0
              ? []
              : Object.entries(instances).map(([count, value]) => [{ tenant: slug, count }, value]),
          ),
      }),
      family({
        name: 'berth_instances_unhealthy',
        help: 'Wanted containers whose health check fails.',
        labels: ['tenant'],
        read: () =>
          this.#summed(({ slug, tally }) =>
            tally.states.instances.size === 0 ? [] : [[{ tenant: slug }, tally.unhealthy]],
          ),
      }),
      family({
        name: 'berth_volumes_leased',
        help: 'Volumes with copies, whose primary writes under a lease.',
        labels: ['tenant'],
        read: () =>
          this.#summed(({ slug, tally }) =>
            tally.states.volumes.size === 0 ? [] : [[{ tenant: slug }, tally.leased]],
          ),
      }),
    ];
  }

  /** Named fairly; what does not fit is counted under the name of the family. */
  #named<T>(name: string, of: (tenant: OwnTenant) => Candidates<T>): readonly T[] {
    const { taken, leftOut } = fairShare(this.#tenants().map(of), MAX_NAMED);
    this.#leftOut.set(name, leftOut);
    return taken;
  }

  #problems(): readonly Family[] {
    const { store, runsControlPlane } = this.#options;
    const troubled = (of: 'deployments' | 'nodes' | 'jobs') => (tenant: OwnTenant) => {
      const ids = tenant.tally.trouble[of];
      return { of: Iterator.from(ids).map((id) => ({ tenant, id })), size: ids.size };
    };
    return [
      family({
        name: 'berth_deployment_problem',
        help: '1 for each deployment that is degraded, or that has fewer instances placed than it wants; no other is named.',
        labels: ['tenant', 'deployment', 'reason'],
        read: () =>
          this.#named('berth_deployment_problem', troubled('deployments')).flatMap(({ tenant, id }) => {
            const status = store.forTenant(tenant.id).get('deployment-status', id)?.record;
            const [deployment] = segmentsOf('deployments', id);
            const reasons = [
              ...(status?.phase === 'Degraded' ? ['degraded'] : []),
              ...(status !== undefined && isUnplaced(status) ? ['unplaced'] : []),
            ];
            return reasons.map(
              (reason): Sample<'tenant' | 'deployment' | 'reason'> => [
                { tenant: tenant.slug, deployment, reason },
                1,
              ],
            );
          }),
      }),
      family({
        name: 'berth_node_problem',
        help: '1 for each node that is not ready; no other is named.',
        labels: ['tenant', 'node', 'state'],
        read: () =>
          this.#named('berth_node_problem', troubled('nodes')).flatMap(({ tenant, id }) => {
            const own = store.forTenant(tenant.id);
            const record = own.get('nodes', id)?.record;
            const state = record && nodeState(record, own.get('node-liveness', id)?.record);
            const [node] = segmentsOf('nodes', id);
            if (state === undefined || (state === 'not_ready' && runsControlPlane(node))) return [];
            return [[{ tenant: tenant.slug, node, state }, 1]];
          }),
      }),
      family({
        name: 'berth_node_condition',
        help: '1 for each condition of a machine that keeps new work away from it; no other node is named.',
        labels: ['tenant', 'node', 'condition'],
        read: () =>
          this.#named('berth_node_condition', (tenant) => {
            const ids = tenant.tally.conditioned;
            return { of: Iterator.from(ids).map((id) => ({ tenant, id })), size: ids.size };
          }).flatMap(({ tenant, id }) => {
            const { conditions = [] } = store.forTenant(tenant.id).get('nodes', id)?.record ?? {};
            const [node] = segmentsOf('nodes', id);
            // Each once, whatever an agent says.
            return [...new Set(conditions.map(({ kind }) => kind))].map(
              (condition): Sample<'tenant' | 'node' | 'condition'> => [
                { tenant: tenant.slug, node, condition },
                1,
              ],
            );
          }),
      }),
      family({
        name: 'berth_job_failed_timestamp_seconds',
        help: 'When the newest run that ended failed, for each job of which it did; no other is named.',
        labels: ['tenant', 'job_name'],
        read: () =>
          this.#named('berth_job_failed_timestamp_seconds', troubled('jobs')).map(({ tenant, id }) => {
            const run = lastEnd(store.forTenant(tenant.id).get('job-status', id)?.record);
            const [job] = segmentsOf('jobs', id);
            const at = Date.parse(run?.finishedAt ?? run?.createdAt ?? '') / 1000;
            return [{ tenant: tenant.slug, job_name: job }, Number.isFinite(at) ? at : 1];
          }),
      }),
    ];
  }

  #volumes(): readonly Family[] {
    const rows = <Label extends string>(
      name: string,
      read: (tenant: OwnTenant, record: VolumeRecord) => readonly Sample<Label>[],
    ) => this.#named(name, (tenant) => this.#volumesOf(tenant)).flatMap((one) => read(...one));
    const ofVolume = (
      name: string,
      help: string,
      value: (seen: SeenVolume | undefined, record: VolumeRecord, tenant: OwnTenant) => number | undefined,
    ): Family =>
      family({
        name,
        help,
        labels: ['tenant', 'volume'],
        read: () =>
          rows(name, (tenant, record) => {
            const amount = value(this.#primarySeen(tenant, record), record, tenant);
            return amount === undefined ? [] : [[{ tenant: tenant.slug, volume: record.name }, amount]];
          }),
      });
    return [
      ofVolume(
        'berth_volume_size_bytes',
        'Size of a volume, as its primary last measured it.',
        (seen, record) => seen?.sizeBytes ?? record.sizeBytes,
      ),
      ofVolume(
        'berth_volume_used_bytes',
        'What of it is used, as its primary last measured it.',
        (seen) => seen?.usedBytes,
      ),
      ofVolume('berth_volume_degraded', '1 while a volume is degraded.', (_seen, { phase }) =>
        phase === 'Degraded' ? 1 : 0,
      ),
      ofVolume(
        'berth_volume_epoch',
        'Raised whenever another node becomes the primary.',
        (_seen, { epoch }) => epoch,
      ),
      ofVolume(
        'berth_volume_diverged',
        'Kept states of earlier primaries that no copy had.',
        (_seen, record, tenant) => this.#diverged(tenant, record),
      ),
      family({
        name: 'berth_volume_copy_lag_seconds',
        help: 'Age of the newest state that a copy has, as the primary last reported it.',
        labels: ['tenant', 'volume', 'node'],
        read: () =>
          rows('berth_volume_copy_lag_seconds', (tenant, record) =>
            // Of copies that the record has: an agent may report any name.
            record.replicas.flatMap(({ nodeId }): Sample<'tenant' | 'volume' | 'node'>[] => {
              const copies = this.#primarySeen(tenant, record)?.copies;
              const ageMs = copies?.find((copy) => copy.nodeId === nodeId)?.ageMs;
              return ageMs === undefined
                ? []
                : [[{ tenant: tenant.slug, volume: record.name, node: nodeId }, ageMs / 1000]];
            }),
          ),
      }),
    ];
  }

  /** First those that somebody has to look at, then the others in the order of their ids. */
  #volumesOf(tenant: OwnTenant): Candidates<readonly [OwnTenant, VolumeRecord]> {
    const volumes = this.#options.store.forTenant(tenant.id).collection('volumes');
    const { trouble } = tenant.tally;
    function* inOrder() {
      for (const id of trouble.volumes) {
        const record = volumes.get(id)?.record;
        if (record !== undefined) yield [tenant, record] as const;
      }
      for (const { id, record } of volumes.list({ limit: MAX_NAMED }))
        if (!trouble.volumes.has(id)) yield [tenant, record] as const;
    }
    return { of: inOrder(), size: volumes.size };
  }

  #primarySeen(tenant: OwnTenant, record: VolumeRecord): SeenVolume | undefined {
    const { primaryNodeId: node, id } = record;
    const seen = node === undefined ? undefined : this.#options.seen(tenant.id, id, node);
    return seen !== undefined && node !== undefined && isOfPrimary(record, seen, node) ? seen : undefined;
  }

  #diverged(tenant: OwnTenant, { id }: VolumeRecord): number {
    return this.#options.store
      .forTenant(tenant.id)
      .collection('volume-observations')
      .listUnder(prefixOf('volume-observations', id))
      .reduce((sum, { record }) => sum + (record.diverged?.length ?? 0), 0);
  }

  #certificates(): Family {
    const name = 'berth_ingress_certificate_expiry_timestamp_seconds';
    return family({
      name,
      help: 'When the certificate of a host of the ingress ends; of several nodes that serve it, the first.',
      labels: ['tenant', 'host'],
      read: () =>
        this.#named(name, ({ id, slug }) => {
          const ends = this.#options.tallies.certificates(id);
          return {
            of: Iterator.from(ends).map(
              ([host, endMs]): Sample<'tenant' | 'host'> => [{ tenant: slug, host }, endMs / 1000],
            ),
            size: ends.size,
          };
        }),
    });
  }
}
