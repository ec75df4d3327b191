import type { CopyAges } from '../../core/protocol/peer-messages.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { DEFAULT_PREFIXES, type NetworkPrefixes } from '../../core/model/mesh.ts';
import type { Region, UnstatedCountry } from '../../core/model/region.ts';
import type { ScalingView } from '../../core/model/scaling.ts';
import type { ParseSchedule } from '../../core/model/schedule.ts';
import { livenessTimings } from '../../core/plan/liveness/node-liveness.ts';
import type { FirstPlan } from '../placement/first-plan.ts';
import type { InstanceCommands } from '../runtime/instance-commands.ts';
import type { Liveness } from '../runtime/liveness.ts';
import type { RepeatedLeases, VolumeSigns } from '../runtime/volume-signs.ts';
import type { Controller, ControllerDeps } from './controller.ts';
import { AddressesController } from './network/addresses.ts';
import { DrainController } from './nodes/drain.ts';
import { InstancesController } from './instances/instances.ts';
import { JobsController } from './jobs/jobs.ts';
import { type AuditKept, type AuditSize, type EventsKept, Janitor } from './housekeeping/janitor.ts';
import { NodeLivenessController } from './nodes/node-liveness.ts';
import { ScalingController, type ScalingOptions } from './scaling/scaling.ts';
import { SpecSnapshotsController } from './instances/spec-snapshots.ts';
import { Reconciler } from './reconciler.ts';
import type { VolumeSettings } from './volumes/volume-read.ts';
import { VolumesController } from './volumes/volumes.ts';
import { WebhooksController, type WebhookSending } from './webhooks/webhooks.ts';

export { systemTimers } from './timers.ts';

const LAST_COPY_MS = 30_000;

/** Of a process without agents. */
const NO_AGENTS: InstanceCommands = {
  run: async () => ({ ok: false, reason: 'before_unavailable', message: 'no agent can be asked' }),
};

export interface ControllersOptions extends ControllerDeps {
  readonly controlPlaneNode?: NodeName;
  readonly parseSchedule: ParseSchedule;
  /** Absent: there are no agents. */
  readonly instanceCommands?: InstanceCommands;
  /** Absent: the defaults. */
  readonly spans?: ControllerSpans;
  readonly eventsKept?: EventsKept;
  /** Absent: the audit is kept whole. */
  readonly audit?: AuditKept;
  readonly repeatedLeases?: RepeatedLeases;
  readonly regions: readonly Region[];
  /** Absent: `keep`. */
  readonly unstated?: UnstatedCountry;
  /** For epochs that begin from now on. */
  readonly volumeLeaseMs: number;
  /** Absent: half a minute. */
  readonly volumeLastCopyMs?: number;
  /** Whether the lease of this process is certainly still valid for the others. */
  readonly certain?: () => boolean;
  readonly agesElsewhere?: VolumeSettings['agesElsewhere'];
  readonly scaling: ScalingOptions;
  /** Absent: no event is sent anywhere. */
  readonly webhooks?: WebhookSending;
  /** Absent: the defaults. */
  readonly network?: NetworkPrefixes;
}

/** As configured, on the monotonic clock. */
export interface ControllerSpans {
  readonly failedAfterMs: number;
  readonly replaceAfterMs: number;
  readonly startGraceMs: number;
  readonly settleMs: number;
}

export interface Controllers {
  /** For the sessions with agents, in the same process. */
  readonly liveness: Liveness;
  readonly volumeSigns: VolumeSigns;
  /** For requests that create a deployment. */
  readonly planFirst: FirstPlan;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The tenant's shard was assigned to this process, or taken from it. */
  adopt(tenantId: TenantId): void;
  abandon(tenantId: TenantId): void;
  status(): Record<string, unknown>;
  /** Records queued for reconciliation, by controller. */
  depths(): readonly (readonly [controller: string, depth: number])[];
  auditSize(): AuditSize;
  /** Ages of the copies that the primaries on a node reported to this process. */
  copyAges(tenantId: TenantId, node: NodeName): readonly CopyAges[];
  /** What the scaling policy of a deployment last saw. */
  scalingView(tenantId: TenantId, deployment: string): ScalingView | undefined;
}

export function createControllers(options: ControllersOptions): Controllers {
  const { spans } = options;
  const nodeLiveness = new NodeLivenessController(
    options,
    options.controlPlaneNode,
    spans &&
      livenessTimings({
        failAfterMs: spans.failedAfterMs,
        replaceAfterMs: spans.replaceAfterMs,
        startGraceMs: spans.startGraceMs,
      }),
  );
  const volumes = new VolumesController(options, {
    leaseMs: options.volumeLeaseMs,
    lastCopyMs: options.volumeLastCopyMs ?? LAST_COPY_MS,
    ...(options.certain && { certain: options.certain }),
    ...(options.repeatedLeases && { repeatedLeases: options.repeatedLeases }),
    ...(options.agesElsewhere && { agesElsewhere: options.agesElsewhere }),
    regions: options.regions,
    ...(options.unstated && { unstated: options.unstated }),
  });
  const instances = new InstancesController(options, spans?.settleMs);
  const webhooks = options.webhooks && new WebhooksController(options, options.webhooks);
  const janitor = new Janitor(options, options.eventsKept, options.audit, webhooks);
  const scaling = new ScalingController(options, options.scaling);
  /** In the order in which they start; they stop in the reverse order. */
  const controllers: readonly Controller[] = [
    nodeLiveness,
    volumes,
    instances,
    new JobsController(options, options.parseSchedule, options.instanceCommands ?? NO_AGENTS),
    scaling,
    new AddressesController(options, options.network ?? DEFAULT_PREFIXES),
    new DrainController(options),
    new SpecSnapshotsController(options),
    janitor,
    // Stops before it: what is under way is cut off, and the janitor waits for no receiver.
    ...(webhooks ? [webhooks] : []),
  ];
  return {
    liveness: nodeLiveness,
    volumeSigns: volumes,
    planFirst: (record, transaction) => instances.planFirst(record, transaction),
    auditSize: () => janitor.auditSize(),
    start: async () => {
      for (const controller of controllers) controller.start();
    },
    stop: async () => {
      for (const controller of controllers.toReversed()) await controller.stop();
    },
    adopt: (tenantId) => {
      for (const controller of controllers) controller.adopt(tenantId);
    },
    abandon: (tenantId) => {
      for (const controller of controllers.toReversed()) controller.abandon(tenantId);
    },
    depths: () =>
      controllers.flatMap((one) => (one instanceof Reconciler ? [[one.name, one.depth] as const] : [])),
    copyAges: (tenantId, node) => volumes.ages(tenantId, node),
    scalingView: (tenantId, deployment) => scaling.view(tenantId, deployment),
    status: () => Object.fromEntries(controllers.map((controller) => [controller.name, controller.status()])),
  };
}
