import type { DeploymentSpec } from '../../../src/core/model/deployment.ts';
import type { NodeName, VolumeId } from '../../../src/core/model/ids.ts';
import { type JobRecord, jobWorkload } from '../../../src/core/model/job.ts';
import { activeRun } from '../../../src/core/model/job-run.ts';
import { jobOwner } from '../../../src/core/model/owner.ts';
import { LIVENESS_TIMINGS } from '../../../src/core/plan/liveness/node-liveness.ts';
import { fencedAfterMs, type VolumeRecord } from '../../../src/core/model/volume.ts';
import { AS_ADMITTED, hashSpec, TENANT } from './controllers.ts';
import { putVersion } from '../../../src/server/store/deployment-rows.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import type { Machine, World } from './world.ts';

/** What is asked for, and when the next thing may be asked for: absent means when everything is as wanted. */
interface Stage {
  readonly act: (world: World) => unknown;
  /** What is missing. */
  readonly until?: (world: World) => string | undefined;
}

/** One way from a settled state to another, as a user or a fault asks for it. */
export interface ReconcilePath {
  readonly name: string;
  readonly setup?: (world: World) => Promise<void>;
  /** What is missing before it can begin; absent: that everything is as wanted. */
  readonly begins?: (world: World) => string | undefined;
  readonly stages: readonly Stage[];
  /** What a crash may cost beyond the usual: spans that a control plane has to wait again after its start. */
  readonly againMs?: number;
}

const { startGraceMs, failAfterMs, replaceAfterMs } = LIVENESS_TIMINGS;
const CHECK = { type: 'exec', command: ['/bin/true'] } as const;
const WEB: Partial<DeploymentSpec> = { replicas: 2, healthCheck: CHECK };
const SECRET = { name: 'DB', vault_path: 'env/db', anchor: 'db', rotation: 'restart' } as const;
const VOLUME = 'vol_1';
const LEASE_MS = 15_000;

const web =
  (changes: Partial<DeploymentSpec>): Stage['act'] =>
  (world) =>
    world.apply('web', changes);

function machine({ machines }: World, name: string): Machine {
  const found = machines.get(name);
  if (found === undefined) throw new Error(`no machine ${name}`);
  return found;
}

function setCut(world: World, name: string, cut: boolean): void {
  Object.assign(machine(world, name), { cutIn: cut, cutOut: cut });
}

/** Nothing of it is to run there any more, and as many as wanted run elsewhere. */
function left(world: World, node: string): string | undefined {
  const { truth } = world;
  const there = truth.list('instances').filter(({ record }) => record.nodeId === node);
  if (there.some(({ record }) => record.wanted === 'run')) return `instances are wanted on ${node}`;
  const status = truth.get('deployment-status', idOf('deployment-status', 'web'))?.record;
  return status?.phase === 'Running' ? undefined : `web is ${status?.phase ?? 'unknown'}`;
}

/** As admission stores it. */
async function startCanary(world: World, changes: Partial<DeploymentSpec>): Promise<void> {
  const id = idOf('deployments', 'web');
  const stable = world.truth.get('deployments', id)?.record;
  if (stable === undefined) return;
  const spec = { ...stable.spec, ...changes };
  const specHash = hashSpec(spec);
  const canary = {
    spec,
    specHash,
    replicas: 1,
    stableSpecHash: stable.specHash,
    createdAt: '',
    createdBy: '',
  };
  await world.write((transaction) =>
    transaction.put('canaries', id, canary).put('specs', idOf('specs', 'web', specHash), spec),
  );
}

async function promoteCanary(world: World): Promise<void> {
  const id = idOf('deployments', 'web');
  const stable = world.truth.get('deployments', id)?.record;
  const canary = world.truth.get('canaries', id)?.record;
  if (stable === undefined || canary === undefined) throw new Error('there is no canary to promote');
  const { spec, specHash } = canary;
  const promoted = { ...stable, spec, specHash, version: stable.version + 1 };
  await world.write((transaction) => {
    putVersion(transaction.delete('canaries', id), { previous: stable, record: promoted }, AS_ADMITTED);
  });
}

async function createJob(world: World, image: string): Promise<void> {
  const spec = { kind: 'Job', name: 'sum', image, secrets: [], retries: 1 } as const;
  const workload = jobWorkload(spec);
  const specHash = hashSpec(workload);
  const record: JobRecord = {
    id: world.ids.next('job'),
    tenantId: TENANT,
    spec,
    specHash,
    createdAt: world.time.now().toISOString(),
  };
  const run = { runId: world.ids.next('run'), trigger: 'created', at: '', by: '' } as const;
  await world.write((transaction) =>
    transaction
      .put('jobs', idOf('jobs', 'sum'), record)
      .put('specs', idOf('specs', jobOwner('sum'), specHash), workload)
      .put('job-orders', idOf('job-orders', 'sum'), { run }),
  );
}

/** Ended as it should, and nothing of its containers is left. */
function jobUnfinished(state: string, attempts: number) {
  return ({ truth, laws }: World): string | undefined => {
    const status = truth.get('job-status', idOf('job-status', 'sum'))?.record;
    const [run, ...more] = status?.runs ?? [];
    if (status === undefined || run === undefined || activeRun(status) !== undefined) return 'the job runs';
    if (more.length > 0) return `${more.length + 1} runs of one order`;
    if (run.state !== state || run.attempts !== attempts)
      return `the run ${run.state} after ${run.attempts} attempts`;
    return laws.unsettled();
  };
}

async function createVolume(world: World, copies: number): Promise<void> {
  const record: VolumeRecord = {
    id: VOLUME as VolumeId,
    tenantId: TENANT,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    phase: 'Pending',
    sizeBytes: 2 ** 30,
    copies,
    replicas: [],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    leaseMs: LEASE_MS,
    createdAt: world.time.now().toISOString(),
  };
  await world.write((transaction) =>
    transaction
      .put('volumes', VOLUME, record)
      .put('volume-names', idOf('volume-names', 'data'), { volumeId: VOLUME }),
  );
}

const volumeOf = ({ truth }: World): VolumeRecord | undefined => truth.get('volumes', VOLUME)?.record;

function volumeUnsettled(world: World): string | undefined {
  const record = volumeOf(world);
  if (record?.phase !== 'Ready') return `the volume is ${record?.phase ?? 'gone'}`;
  const live = record.replicas.filter(({ state }) => state === 'live').length;
  if (live !== record.copies || record.replicas.length !== live) return `${live} live copies`;
  if (record.leaving.length > 0) return `${record.leaving.join()} still keep something`;
  return world.laws.unsettled();
}

/** A writer on a volume with a copy. */
async function writer(world: World): Promise<void> {
  await createVolume(world, 1);
  await world.write((transaction) =>
    transaction.put('volume-claims', VOLUME, { writer: 'web', readers: [] }),
  );
  await world.apply('web', {
    ...WEB,
    replicas: 1,
    volumes: [{ volumeId: VOLUME, mountPath: '/data', readOnly: false }],
  });
}

/** The primary that there was at first. */
const FIRST_PRIMARY = 'n1';

async function deleteVolume(world: World): Promise<void> {
  const record = volumeOf(world);
  if (record === undefined) return;
  const kept = [record.primaryNodeId, ...record.replicas.map(({ nodeId }) => nodeId)];
  const leaving = kept.filter((node): node is NodeName => node !== undefined);
  const { primaryNodeId: _gone, ...rest } = record;
  await world.write((transaction) =>
    transaction.put('volumes', VOLUME, { ...rest, phase: 'Deleting', replicas: [], leaving }),
  );
}

async function releaseNode(world: World, name: string): Promise<void> {
  world.killAgent(machine(world, name));
  world.machines.delete(name);
  const id = idOf('nodes', name);
  await world.write((transaction) =>
    transaction.delete('nodes', id).delete('node-liveness', id).delete('node-drains', id),
  );
}

const started = (world: World): Promise<void> => world.apply('web', WEB);
/** One on each node. */
const spread = (world: World): Promise<void> => world.apply('web', { ...WEB, replicas: 3 });

/** Every path of the controllers and the agent between an order and its end. */
export const RECONCILE_PATHS: readonly ReconcilePath[] = [
  { name: 'create', stages: [{ act: web(WEB) }] },
  {
    name: 'create three at once',
    stages: [
      {
        act: async (world) => {
          await Promise.all(['api', 'db', 'web'].map((name) => world.apply(name, WEB)));
        },
      },
    ],
  },
  { name: 'update', setup: started, stages: [{ act: web({ image: 'shop/web:2' }) }] },
  { name: 'scale up', setup: started, stages: [{ act: web({ replicas: 4 }) }] },
  {
    name: 'scale down',
    setup: (world) => world.apply('web', { ...WEB, replicas: 4 }),
    stages: [{ act: web({ replicas: 1 }) }],
  },
  {
    name: 'delete',
    setup: started,
    stages: [
      {
        act: (world) => world.remove('web'),
      },
    ],
  },
  {
    name: 'rollback',
    setup: (world) =>
      world.apply('web', { ...WEB, update: { progressDeadline: '20s', onFailure: 'rollback' } }),
    stages: [
      {
        act: web({ image: 'shop/web:bad' }),
        until: ({ truth, laws }) =>
          truth.get('deployments', idOf('deployments', 'web'))?.record.spec.image === 'shop/web:1'
            ? laws.unsettled()
            : 'not rolled back',
      },
    ],
    // The deadline is counted on the monotonic clock of one process.
    againMs: 20_000,
  },
  {
    name: 'rotate',
    setup: (world) => world.apply('web', { ...WEB, secrets: [SECRET], secretsVersion: 1 }),
    stages: [{ act: web({ secretsVersion: 2 }) }],
  },
  {
    name: 'enrol and session',
    stages: [
      {
        act: async (world) => {
          await world.enrol('n4');
          world.startAgent(machine(world, 'n4'));
        },
      },
    ],
  },
  {
    name: 'node lost and back',
    setup: spread,
    stages: [
      { act: (world) => setCut(world, 'n1', true), until: (world) => left(world, 'n1') },
      { act: (world) => setCut(world, 'n1', false) },
    ],
    againMs: startGraceMs + replaceAfterMs,
  },
  {
    name: 'drain and release',
    setup: spread,
    stages: [
      {
        act: (world) => world.alterNode('n1', { schedulable: false, draining: true }),
        until: ({ truth }) =>
          truth.get('node-drains', idOf('node-drains', 'n1')) === undefined ? 'n1 is not drained' : undefined,
      },
      { act: (world) => releaseNode(world, 'n1') },
    ],
  },
  {
    name: 'canary promoted',
    setup: started,
    stages: [{ act: (world) => startCanary(world, { image: 'shop/web:2' }) }, { act: promoteCanary }],
  },
  {
    name: 'canary that fails',
    setup: (world) => world.apply('web', { ...WEB, update: { progressDeadline: '20s' } }),
    stages: [
      {
        act: (world) => startCanary(world, { image: 'shop/web:bad' }),
        until: ({ truth, laws }) =>
          truth.get('canaries', idOf('canaries', 'web')) === undefined ? laws.unsettled() : 'the canary runs',
      },
    ],
    againMs: 20_000,
  },
  {
    name: 'scaling by load',
    setup: started,
    stages: [
      {
        act: (world) => {
          world.loadPercent = 100;
          const policy = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 50, cooldown: '15s' };
          return world.write((transaction) =>
            transaction.put('scaling-policies', idOf('scaling-policies', 'web'), {
              ...policy,
              createdAt: '',
              updatedAt: '',
            }),
          );
        },
        until: ({ truth, laws }) =>
          truth.get('deployments', idOf('deployments', 'web'))?.record.spec.replicas === 4
            ? laws.unsettled()
            : 'not scaled',
      },
    ],
    // A cooldown and a round of measurements begin anew.
    againMs: 45_000,
  },
  {
    name: 'job',
    stages: [
      { act: (world) => createJob(world, 'shop/web:task'), until: jobUnfinished('Succeeded', 1) },
      {
        act: (world) =>
          world.write((transaction) =>
            transaction.delete('jobs', idOf('jobs', 'sum')).delete('job-orders', idOf('job-orders', 'sum')),
          ),
        until: ({ truth, laws }) =>
          truth.get('job-status', idOf('job-status', 'sum')) === undefined
            ? laws.unsettled()
            : 'its status is left',
      },
    ],
  },
  {
    name: 'job that fails',
    stages: [{ act: (world) => createJob(world, 'shop/web:crash'), until: jobUnfinished('Failed', 2) }],
  },
  {
    name: 'volume made and copied',
    stages: [
      { act: (world) => createVolume(world, 0), until: volumeUnsettled },
      {
        act: async (world) => {
          const record = volumeOf(world);
          if (record === undefined) return;
          await world.write((transaction) => transaction.put('volumes', VOLUME, { ...record, copies: 1 }));
        },
        until: volumeUnsettled,
      },
    ],
  },
  {
    name: 'volume promoted',
    setup: writer,
    begins: volumeUnsettled,
    stages: [
      {
        act: (world) => setCut(world, FIRST_PRIMARY, true),
        until: (world) => (volumeOf(world)?.epoch === 2 ? left(world, FIRST_PRIMARY) : 'not promoted'),
      },
      { act: (world) => setCut(world, FIRST_PRIMARY, false), until: volumeUnsettled },
    ],
    againMs: startGraceMs + failAfterMs + fencedAfterMs({ leaseMs: LEASE_MS }),
  },
  {
    name: 'volume moved by a drain, and back',
    setup: writer,
    begins: volumeUnsettled,
    stages: [
      {
        act: (world) => world.alterNode(FIRST_PRIMARY, { schedulable: false, draining: true }),
        until: (world) =>
          volumeOf(world)?.primaryNodeId === FIRST_PRIMARY ? 'not moved' : left(world, FIRST_PRIMARY),
      },
      {
        act: (world) => world.alterNode(FIRST_PRIMARY, { schedulable: true, draining: false }),
        until: volumeUnsettled,
      },
    ],
    againMs: 30_000,
  },
  {
    name: 'volume deleted',
    setup: (world) => createVolume(world, 1),
    begins: volumeUnsettled,
    stages: [
      {
        act: deleteVolume,
        until: (world) => (volumeOf(world) === undefined ? world.laws.unsettled() : 'the volume is left'),
      },
    ],
  },
];
