import type { ContainerHealth, ContainerState, ContainerStatus } from '../engine/container.ts';
import { optional } from '../../core/model/values.ts';
import { isMeshNetwork, OWN_LABELS } from './own-labels.ts';

/** A container with our labels, as far as plan and report need to know it. */
export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly instanceId: string;
  readonly installId: string;
  readonly specHash: string;
  readonly secretsVersion: number;
  readonly attempt: number;
  readonly status: ContainerStatus;
  readonly exitCode?: number;
  readonly oomKilled: boolean;
  readonly health?: ContainerHealth;
  readonly restarts: number;
  readonly restartsItself: boolean;
  /** Absent: it was made before this was asked for. */
  readonly stopGraceS?: number;
  readonly binds: readonly string[];
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly healthySince?: string;
  /** On the tenant's network, where that spans its nodes. */
  readonly address?: string;
  readonly ports: readonly { readonly container: number; readonly host: number }[];
}

/** Undefined: a foreign container, or its labels were tampered with. */
export function observedContainer(
  state: ContainerState,
  before: ObservedContainer | undefined,
  now: Date,
): ObservedContainer | undefined {
  const label = (key: string): string => state.labels[key] ?? '';
  const instanceId = label(OWN_LABELS.instance);
  if (instanceId === '') return undefined;
  const healthy = state.health?.status === 'healthy';
  return {
    id: state.id,
    name: state.name,
    instanceId,
    installId: label(OWN_LABELS.install),
    specHash: label(OWN_LABELS.specHash),
    secretsVersion: Number(label(OWN_LABELS.secretsVersion)) || 0,
    attempt: Number(label(OWN_LABELS.attempt)) || 0,
    status: state.status,
    ...optional('exitCode', state.exitCode),
    oomKilled: state.oomKilled,
    ...optional('health', state.health),
    restarts: state.restartCount,
    restartsItself: state.restartsItself,
    ...optional('stopGraceS', state.stopTimeoutS),
    binds: state.binds,
    ...optional('startedAt', state.startedAt),
    ...optional('finishedAt', state.finishedAt),
    ...optional('healthySince', healthy ? (before?.healthySince ?? now.toISOString()) : undefined),
    ...optional('address', state.networks.find(({ name }) => isMeshNetwork(name))?.ip),
    ports: state.ports
      .filter((port, index, all) => all.findIndex((other) => other.container === port.container) === index)
      .map(({ container, host }) => ({ container, host })),
  };
}
