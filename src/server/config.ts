import type { NetworkPrefixes } from '../core/model/mesh.ts';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { ContainerDefaults } from '../core/model/container-defaults.ts';
import type { DefaultRequest } from '../core/model/counted.ts';
import type { KindAmounts } from '../core/model/quota.ts';
import type { Region, UnstatedCountry } from '../core/model/region.ts';
import { optional } from '../core/model/values.ts';
import type { ConfigPath, OptionalPath, Setting } from './config-keys.ts';
import {
  parseListen,
  advertised,
  cellNamed,
  memoryOf,
  oneOf,
  acceptedDefaults,
  acmeDirectory,
  grantable,
  networkPrefixes,
  rootKeySource,
  type RootKeySource,
} from './config-checks.ts';
import { ConfigError, loadValues } from './config-values.ts';

export interface Config {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly baseUrl?: string;
  /** What is shown there, where it is not `tls.cert`. */
  readonly baseUrlCertificate?: string;
  /** Where other control planes reach this one; absent: worked out from the listener. */
  readonly advertiseUrl?: string;
  /** Of several installations behind one router. */
  readonly cell?: string;
  readonly nodeName: string;
  readonly logLevel: string;
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    readonly next?: string;
    /** 0: the main thread does it. */
    readonly threads: number;
  };
  readonly store:
    | { readonly kind: 'sqlite' }
    | {
        readonly kind: 'etcd';
        readonly endpoints: readonly string[];
        readonly prefix: string;
        readonly user?: string;
        readonly passwordFile?: string;
        readonly ca?: string;
        readonly cert?: string;
        readonly key?: string;
      };
  readonly tokenKeyFile: string;
  readonly rootKey: RootKeySource;
  readonly secrets: {
    readonly kind: 'embedded' | 'vault';
    readonly namespaces: readonly string[];
    readonly vault: {
      readonly address?: string;
      readonly ca?: string;
      readonly timeoutMs: number;
      readonly tokenFile?: string;
      readonly roleId?: string;
      readonly secretIdFile?: string;
      readonly appRoleMount: string;
      readonly namespace?: string;
    };
  };
  readonly registries: { readonly allowPrivate: readonly string[]; readonly insecure: readonly string[] };
  readonly webhooks: { readonly allowPrivate: readonly string[]; readonly insecure: readonly string[] };
  readonly reservedNames: readonly string[];
  readonly maxReplicasPerDeployment: number;
  readonly limits: {
    readonly bodyBytes: number;
    readonly jsonDepth: number;
    readonly streamsPerToken: number;
    readonly streamsPerTenant: number;
    readonly connectionsPerAddress: number;
    readonly connectionsExempt: readonly string[];
    readonly reservedDescriptors: number;
    readonly unreadBytesPerToken: number;
    readonly unreadBytesPerTenant: number;
    readonly sendTimeoutMs: number;
    readonly heapShare: number;
    readonly historyBytes: number;
  };
  readonly quotas: {
    readonly records: KindAmounts;
    readonly bytes: KindAmounts;
    readonly defaultRequest: DefaultRequest;
  };
  readonly containerDefaults: ContainerDefaults;
  /** Of each deployment: how many images before the present one stay on nodes. */
  readonly keptImages: number;
  readonly acme: { readonly directory: string; readonly email?: string; readonly ca?: string };
  readonly network: NetworkPrefixes & { readonly relayBytesPerSecond: number };
  readonly rateLimit: { readonly perSecond: number; readonly burst: number };
  readonly sessionsPerSecond: number;
  readonly credentialMs: number;
  readonly events: { readonly keepDays: number; readonly keepCount: number };
  readonly audit: { readonly keepDays: number; readonly dir: string };
  readonly regions: readonly Region[];
  readonly residencyEnforcement: boolean;
  readonly residencyUnstated: UnstatedCountry;
  readonly volumesEnabled: boolean;
  readonly sessions: {
    readonly idleMs: number;
    readonly lifetimeMs: number;
    readonly signInsPerMinute: number;
  };
  readonly metricsOpen: boolean;
  readonly volumeLeaseMs: number;
  readonly volumeLastCopyMs: number;
  readonly volumeLeasePort: number;
  readonly timers: {
    readonly heartbeatMs: number;
    readonly failedAfterMs: number;
    readonly replaceAfterMs: number;
    readonly startGraceMs: number;
    readonly settleMs: number;
    readonly usageMs: number;
    readonly controlPlaneLeaseMs: number;
  };
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[?::1\]?)$/;
export function loadConfig(args: readonly string[], environment: NodeJS.ProcessEnv): Config {
  const values = loadValues(args, environment);
  const setting = <P extends ConfigPath>(path: P): Setting<P> => values.get(path) as Setting<P>;
  const present = <K extends string>(key: K, path: OptionalPath) => optional(key, setting(path));
  const dataDir = resolve(setting('dataDir'));
  const { host, port } = parseListen(setting('listen'));
  const cert = setting('tls.cert');
  const key = setting('tls.key');
  if ((cert === undefined) !== (key === undefined)) throw new ConfigError('tls.cert and tls.key go together');
  const tlsThreads = setting('tls.threads');
  if (tlsThreads > 64) throw new ConfigError(`tls.threads must be at most 64, not ${tlsThreads}`);
  if (tlsThreads > 0 && cert === undefined)
    throw new ConfigError(
      'tls.threads needs tls.cert and tls.key: without TLS such threads have nothing to do',
    );
  if (setting('baseUrlCertificate') !== undefined && setting('baseUrl') === undefined)
    throw new ConfigError('baseUrlCertificate needs baseUrl: it is what is shown there');
  if (!LOOPBACK.test(host) && cert === undefined && !setting('insecureListen')) {
    throw new ConfigError(
      `refusing to listen on ${host} without TLS: tokens would travel in the clear. Set tls.cert and tls.key, or say --insecure-listen when a proxy terminates TLS.`,
    );
  }
  const kind = oneOf('store.kind', setting('store.kind'), ['sqlite', 'etcd']);
  const endpoints = setting('store.etcd.endpoints');
  if (kind === 'etcd' && endpoints.length === 0)
    throw new ConfigError('store.kind etcd needs store.etcd.endpoints');
  return {
    dataDir,
    host,
    port,
    ...present('baseUrl', 'baseUrl'),
    ...present('baseUrlCertificate', 'baseUrlCertificate'),
    ...advertised(setting('advertiseUrl')),
    ...cellNamed(setting('cell')),
    nodeName: setting('nodeName') ?? hostname().toLowerCase(),
    logLevel: oneOf('logLevel', setting('logLevel'), ['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    ...(cert === undefined || key === undefined
      ? {}
      : { tls: { cert, key, threads: tlsThreads, ...present('next', 'tls.next') } }),
    store:
      kind === 'sqlite'
        ? { kind }
        : {
            kind,
            endpoints,
            prefix: setting('store.etcd.prefix'),
            ...present('user', 'store.etcd.user'),
            ...present('passwordFile', 'store.etcd.passwordFile'),
            ...present('ca', 'store.etcd.ca'),
            ...present('cert', 'store.etcd.cert'),
            ...present('key', 'store.etcd.key'),
          },
    tokenKeyFile: setting('keys.tokenKeyFile') ?? join(dataDir, 'keys', 'token.key'),
    rootKey: rootKeySource(
      setting('keys.rootKeyFile'),
      setting('keys.rootKeyCommand'),
      join(dataDir, 'keys', 'root.key'),
      environment['CREDENTIALS_DIRECTORY'],
    ),
    secrets: {
      kind: oneOf('secrets.kind', setting('secrets.kind'), ['embedded', 'vault']),
      namespaces: grantable(setting('secrets.namespaces')),
      vault: {
        ...present('address', 'secrets.vault.address'),
        ...present('ca', 'secrets.vault.ca'),
        timeoutMs: setting('secrets.vault.timeout'),
        appRoleMount: setting('secrets.vault.appRoleMount'),
        ...present('tokenFile', 'secrets.vault.tokenFile'),
        ...present('roleId', 'secrets.vault.roleId'),
        ...present('secretIdFile', 'secrets.vault.secretIdFile'),
        ...present('namespace', 'secrets.vault.namespace'),
      },
    },
    registries: {
      allowPrivate: setting('registries.allowPrivate'),
      insecure: setting('registries.insecure'),
    },
    webhooks: {
      allowPrivate: setting('webhooks.allowPrivate'),
      insecure: setting('webhooks.insecure'),
    },
    reservedNames: setting('reservedNames'),
    maxReplicasPerDeployment: setting('maxReplicasPerDeployment'),
    limits: {
      bodyBytes: setting('limits.bodyBytes'),
      jsonDepth: setting('limits.jsonDepth'),
      streamsPerToken: setting('limits.streamsPerToken'),
      streamsPerTenant: setting('limits.streamsPerTenant'),
      connectionsPerAddress: setting('limits.connectionsPerAddress'),
      connectionsExempt: setting('limits.connectionsExempt'),
      reservedDescriptors: setting('limits.reservedDescriptors'),
      unreadBytesPerToken: setting('limits.unreadBytesPerToken'),
      unreadBytesPerTenant: setting('limits.unreadBytesPerTenant'),
      sendTimeoutMs: setting('limits.sendTimeout'),
      heapShare: setting('limits.heapShare'),
      historyBytes: setting('limits.historyBytes'),
    },
    quotas: {
      records: setting('quotas.records'),
      bytes: setting('quotas.bytes'),
      defaultRequest: {
        cpu: setting('quotas.defaultRequest.cpu'),
        memoryBytes: memoryOf('quotas.defaultRequest.memory', setting('quotas.defaultRequest.memory')),
      },
    },
    keptImages: setting('nodes.keptImages'),
    containerDefaults: acceptedDefaults({
      memory: setting('containers.memory'),
      pids: setting('containers.pids'),
      cpuWeight: setting('containers.cpuWeight'),
      logSize: setting('containers.logSize'),
    }),
    acme: {
      directory: acmeDirectory(setting('ingress.acme.directory')),
      ...present('email', 'ingress.acme.email'),
      ...present('ca', 'ingress.acme.ca'),
    },
    network: {
      ...networkPrefixes(
        setting('network.prefix'),
        setting('network.nodeBits'),
        setting('network.virtualPrefix'),
      ),
      relayBytesPerSecond: setting('network.relayBytesPerSecond'),
    },
    rateLimit: { perSecond: setting('rateLimit.perSecond'), burst: setting('rateLimit.burst') },
    sessionsPerSecond: setting('agents.sessionsPerSecond'),
    credentialMs: setting('agents.credentialLifetime'),
    events: { keepDays: setting('events.keepDays'), keepCount: setting('events.keepCount') },
    audit: { keepDays: setting('audit.keepDays'), dir: setting('audit.dir') ?? join(dataDir, 'audit') },
    regions: setting('regions'),
    residencyEnforcement: setting('scheduler.residencyEnforcement'),
    residencyUnstated: oneOf('residency.unstated', setting('residency.unstated'), ['keep', 'refuse']),
    volumesEnabled: setting('dvm.enabled'),
    sessions: {
      idleMs: setting('sessions.idle'),
      lifetimeMs: setting('sessions.lifetime'),
      signInsPerMinute: setting('sessions.signInsPerMinute'),
    },
    metricsOpen: setting('metrics.open'),
    volumeLeaseMs: setting('dvm.lease'),
    volumeLastCopyMs: setting('dvm.lastCopy'),
    volumeLeasePort: setting('dvm.leasePort'),
    timers: {
      heartbeatMs: setting('timers.heartbeat'),
      failedAfterMs: setting('timers.failedAfter'),
      replaceAfterMs: setting('timers.replaceAfter'),
      startGraceMs: setting('timers.startGrace'),
      settleMs: setting('timers.settle'),
      usageMs: setting('timers.usage'),
      controlPlaneLeaseMs: setting('timers.controlPlaneLease'),
    },
  };
}
