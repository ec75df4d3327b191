import { join } from 'node:path';
import type { Logger } from 'pino';
import { type AccessDependencies, ProvenTokens } from '../access/authenticate.ts';
import { Metrics } from '../api/metrics.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { nodeName } from '../../core/model/ids.ts';
import { DEFAULT_SECRET_POLICY } from '../../core/model/secret-limits.ts';
import type { Limits } from '../../core/rules/rule.ts';
import { StateTallies } from '../figures/state-tallies.ts';
import { History } from '../history/history.ts';
import { createIds } from '../ids.ts';
import { AuditFiles } from '../journal/audit-files.ts';
import { Journal } from '../journal/journal.ts';
import { TenantClusters } from '../placement/tenant-clusters.ts';
import { createRegistryCredentials } from '../registry/credentials.ts';
import { createDialer } from '../registry/dialer.ts';
import { readOrCreateKey } from '../bootstrap.ts';
import { Measurements } from '../runtime/measurements.ts';
import { credentialOf, CredentialWrites } from '../secrets/credential-writes.ts';
import { openSecrets } from '../secrets/open.ts';
import { SecretReferences } from '../secrets/references.ts';
import { composeCluster, composeStore } from './store.ts';

function limitsOf(config: Config): Limits {
  return {
    maxReplicasPerDeployment: config.maxReplicasPerDeployment,
    reservedNames: config.reservedNames,
    secretPolicy: { ...DEFAULT_SECRET_POLICY, namespaces: config.secrets.namespaces },
    regions: config.regions,
    volumesEnabled: config.volumesEnabled,
  };
}

/** What everything else is built on: the store, who else has it, secrets, registries, the journal. */
export async function composeBase(config: Config, log: Logger, readFile: (path: string) => string) {
  const clock = systemClock;
  const ids = createIds(clock, config.cell);
  const tokenKey = readOrCreateKey(config.tokenKeyFile);
  const metrics = new Metrics();
  const committed = metrics.store();
  const opened = await composeStore(config, log, readFile, (result, seconds) => {
    committed(result, seconds);
    if (log.isLevelEnabled('debug')) log.debug({ result, ms: seconds * 1000 }, 'commit');
  });
  const { kv, view, store, format } = opened;
  const cluster = composeCluster(config, log, { store, format, clock, tokenKey });
  const secrets = await openSecrets({
    config,
    kv,
    tenantIds: () => store.listGlobal('tenants').map(({ record }) => record.id),
    readFile,
    say: (details, message) => log.info(details, message),
    warn: (details, message) => log.warn(details, message),
    onNewRootKey: (rootKeyIds) => cluster.agreeOnRootKey(rootKeyIds),
  });
  const limits = limitsOf(config);
  const access: AccessDependencies = { store, tokenKey, clock, proven: new ProvenTokens() };
  const credentials = createRegistryCredentials(
    secrets.store,
    (tenantId, path) => credentialOf(store.forTenant(tenantId), path)?.record,
  );
  const material = {
    references: new SecretReferences(view),
    writes: new CredentialWrites(
      secrets.store,
      cluster.id,
      (process) => store.getGlobal('control-planes', process) !== undefined,
    ),
    policy: limits.secretPolicy,
  };
  const dialer = createDialer({
    allowPrivate: config.registries.allowPrivate,
    insecure: config.registries.insecure,
  });
  // Apart from that of registries: other hosts, and a tenant's receivers that hang do not hold up its images.
  const hooksDialer = createDialer({ ...config.webhooks, setting: 'webhooks' });
  const clusters = new TenantClusters(store, {
    controlPlaneNode: nodeName(config.nodeName),
    regions: config.regions,
    residencyEnforcement: config.residencyEnforcement,
    residencyUnstated: config.residencyUnstated,
    defaultRequest: config.quotas.defaultRequest,
  });
  const measurements = new Measurements((...asked) => cluster.usage(...asked), config.timers.usageMs);
  const history = new History({
    store,
    measurements,
    owns: cluster.forControllers.owns,
    clock,
    usageMs: config.timers.usageMs,
    maxBytes: config.limits.historyBytes,
    file: join(config.dataDir, 'history'),
    log,
  });
  return {
    ...opened,
    config,
    log,
    readFile,
    clock,
    ids,
    tokenKey,
    cluster,
    secrets,
    limits,
    access,
    credentials,
    material,
    dialer,
    hooksDialer,
    clusters,
    journal: new Journal(clock, ids),
    auditFiles: new AuditFiles(config.audit.dir, log),
    metrics,
    tallies: new StateTallies(view),
    measurements,
    history,
  };
}

export type Base = Awaited<ReturnType<typeof composeBase>>;
