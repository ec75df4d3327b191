import type {
  AssignedContainer,
  AssignedHealthCheck,
  AssignedInstance,
  AssignedMount,
} from '../../core/protocol/agent-protocol.ts';
import { STOP_GRACE } from '../../core/model/stop.ts';
import { parseMemory } from '../../core/model/quantity.ts';
import { heldPath } from './binds.ts';
import type { ContainerSpec, HealthCheckSpec, MountSpec } from '../engine/container.ts';
import { UnsafeSpecError } from '../engine/errors.ts';
import { optional } from '../../core/model/values.ts';
import type { WrittenFile } from './config-files.ts';
import { QUICK_BACK_OFF, StepError } from './failures.ts';
import { containerLabels, type Ownership } from './own-labels.ts';
import type { ObservedContainer } from './observed-container.ts';
import type { MountState } from '../volumes/mount-state.ts';

const STOP_GRACE_S = STOP_GRACE.defaultMs / 1000;

/** A container that is to stop has no description any more: what it was made with counts. */
export function stopGraceS({ stopGraceS = STOP_GRACE_S }: Pick<ObservedContainer, 'stopGraceS'>): number {
  return Math.min(Math.max(0, stopGraceS), STOP_GRACE.maxMs / 1000);
}

function graceS({ stop }: AssignedContainer): number {
  return Math.ceil(Math.min(stop?.graceMs ?? STOP_GRACE.defaultMs, STOP_GRACE.maxMs) / 1000);
}
const DEFAULT_TMPFS_BYTES = 64 * 2 ** 20;

/** What containers of the tenant are attached to. */
export interface ContainerNetwork {
  readonly name: string;
  /** Instead of the engine's: names of the tenant's network are answered by the agent. */
  readonly resolvConf?: string;
}

export interface SpecSource {
  readonly name: string;
  readonly assigned: AssignedInstance;
  readonly container: AssignedContainer;
  /** From `resolve`; empty when the container needs none. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly owner: Ownership;
  readonly network: ContainerNetwork;
  /** Where its binds are held. */
  readonly heldFolder: string;
  readonly volume: (volumeId: string) => MountState;
  /** Written already; absent: it has none. */
  readonly files?: readonly WrittenFile[];
}

/** The assignment as a spec of the engine port. What the server should never ask for is refused here once more. */
export function containerSpec(source: SpecSource): ContainerSpec {
  const { container, owner, assigned } = source;
  const memory = container.limits?.memory;
  const { bounds } = container;
  const memoryBytes = memory === undefined ? bounds?.memoryBytes : parseMemory(memory);
  if (memory !== undefined && memoryBytes === undefined) throw new UnsafeSpecError(`memory limit ${memory}`);
  return {
    name: source.name,
    image: container.image,
    ...optional('command', container.command),
    ...optional('user', container.user),
    ...optional('readOnlyRoot', container.readOnlyRootFilesystem),
    ...optional('dropCapabilities', container.capabilities?.drop),
    env: Object.entries({ ...container.environment, ...source.secrets }),
    labels: container.labels,
    ownLabels: containerLabels(owner, assigned),
    network: { name: source.network.name, aliases: [container.alias] },
    ...optional('healthCheck', container.healthCheck && healthCheckSpec(container.healthCheck)),
    // The engine keeps the container running while the agent is away, also over its own restart. `on-failure` would not:
    // a clean end and a restart of the engine would both leave the container down until the agent is back.
    // A job's container is never restarted, whatever ends it.
    // One with binds is started again by the agent alone, which checks its folders first.
    restart:
      assigned.once === undefined && container.mounts.every(({ kind }) => kind !== 'bind')
        ? { name: 'unless-stopped' }
        : { name: 'no' },
    ...optional('cpu', container.limits?.cpu),
    ...optional('memoryBytes', memoryBytes),
    ...optional('pidsLimit', bounds?.pids),
    ...optional('cpuWeight', bounds?.cpuWeight),
    ...optional('logBytes', bounds?.logBytes),
    mounts: [
      ...resolvMount(source.network),
      ...(source.files ?? []).map(({ source: file, target }) => ({
        kind: 'bind' as const,
        source: file,
        target,
        readOnly: true,
      })),
      ...container.mounts.map((mount) => mountSpec(mount, source)),
    ],
    ports: container.ports.map(({ container: port, host }) => ({
      container: port,
      host: host ?? 0,
      protocol: 'tcp' as const,
    })),
    ...optional('stopSignal', container.stop?.signal),
    stopTimeoutS: graceS(container),
  };
}

/**
 * The engine's own resolver answers the name of a container, which is that of its deployment, before it asks anybody: then only
 * instances on the same node would be found.
 */
function resolvMount({ resolvConf }: ContainerNetwork): readonly MountSpec[] {
  if (resolvConf === undefined) return [];
  return [{ kind: 'bind', source: resolvConf, target: '/etc/resolv.conf', readOnly: true }];
}

function healthCheckSpec({ command, ...rest }: AssignedHealthCheck): HealthCheckSpec {
  const [first = '', ...others] = command;
  const test: HealthCheckSpec['test'] =
    others.length === 0 ? ['CMD-SHELL', first] : ['CMD', first, ...others];
  return { test, ...rest };
}

function mountSpec(mount: AssignedMount, { heldFolder, assigned, volume }: SpecSource): MountSpec {
  const { target, readOnly } = mount;
  switch (mount.kind) {
    case 'bind': {
      const source = heldPath(heldFolder, assigned.id, mount.volumeId);
      return { kind: 'bind', source, target, readOnly };
    }
    case 'volume': {
      // Planned only when it was ready; from then to here nothing was awaited but checks of binds.
      const state = volume(mount.volumeId);
      if (state.kind !== 'ready') throw new StepError(state.reason, state.message, QUICK_BACK_OFF);
      return { kind: 'bind', source: state.source, target, readOnly };
    }
    case 'tmpfs':
      return { kind: 'tmpfs', target, sizeBytes: mount.sizeBytes ?? DEFAULT_TMPFS_BYTES };
    default:
      throw new UnsafeSpecError(`mount of kind ${String(mount.kind)}`);
  }
}
