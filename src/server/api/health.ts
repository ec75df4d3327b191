import type { KvStatus } from '../store/kv.ts';

export interface HealthReport {
  readonly status: 'ok' | 'degraded';
  readonly version: string;
  readonly store: KvStatus;
  readonly secrets: {
    readonly kind: string;
    readonly connected: boolean;
    readonly sealed: boolean;
    readonly problem?: string;
  };
  readonly controllers: Readonly<Record<string, unknown>>;
}

export interface HealthParts {
  readonly version: string;
  readonly store: () => Promise<KvStatus>;
  readonly secrets: () => Promise<HealthReport['secrets']>;
  readonly controllers: () => Readonly<Record<string, unknown>>;
}

/** From a real store read each time; degraded when a write would fail. */
export function createHealth(parts: HealthParts): () => Promise<HealthReport> {
  return async () => {
    const [store, secrets] = await Promise.all([parts.store(), parts.secrets()]);
    const healthy = store.connected && store.problem === undefined && secrets.connected && !secrets.sealed;
    return {
      status: healthy ? 'ok' : 'degraded',
      version: parts.version,
      store,
      secrets,
      controllers: parts.controllers(),
    };
  };
}
