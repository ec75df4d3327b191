import type { LogFeed } from '../../core/contract/log-feed.ts';
import { ownValues, storedValues } from '../diagnostics/known-values.ts';
import { Diagnostics } from '../diagnostics/diagnostics.ts';
import { secretNamespaces } from '../writes/secrets/write-secret.ts';
import type { Background } from './background.ts';
import type { Base } from './base.ts';

export function composeDiagnostics(
  base: Base,
  { dispatch }: Background,
  { feed, bootstrapToken }: { readonly feed: LogFeed; readonly bootstrapToken: string | undefined },
  health: () => Promise<object>,
): Diagnostics {
  const { config, store, cluster, metrics, secrets, tallies, tokenKey, readFile } = base;
  return new Diagnostics({
    feed,
    sources: {
      config,
      store,
      member: cluster.id,
      health,
      sizes: () => tallies.sizes(),
      session: (tenantId, node) => dispatch.sessionState(tenantId, node),
      placed: (tenantId, node) => dispatch.placedOn(tenantId, node).length,
      lastSeenAt: (tenantId, node) => dispatch.lastSeenAt(tenantId, node),
    },
    metrics: () => metrics.text(),
    ownValues: () =>
      ownValues({ config, environment: process.env, readFile, bootstrapToken, keys: [tokenKey] }),
    storedValues: () =>
      storedValues(secrets.store, store.view.tenantIds(), secretNamespaces(config.secrets.namespaces)),
  });
}
