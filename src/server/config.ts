import { INGRESS_NAMESPACE } from '../core/model/ingress.ts';
import { cidrText, overlap, parseCidr } from '../core/model/ipv4.ts';
import type { NetworkPrefixes } from '../core/model/mesh.ts';
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import {
  ACCEPTED_CONTAINER_DEFAULTS,
  CONTAINER_DEFAULT_FIELDS,
  type ContainerDefaults,
} from '../core/model/container-defaults.ts';
import { nearest } from '../core/schema/nearest.ts';
import { isCountry } from '../core/model/countries.ts';
import type { DefaultRequest } from '../core/model/counted.ts';
import { parseDuration, parseMemory } from '../core/model/quantity.ts';
import { type KindAmounts, QUOTA_KINDS } from '../core/model/quota.ts';
import type { Region, UnstatedCountry } from '../core/model/region.ts';
import { isIntegerWithin, isOneOf, isRecord, messageOf, optional } from '../core/model/values.ts';
import { yaml } from './yaml.ts';
import {
  CONFIG_KEYS,
  type ConfigKey,
  type ConfigPath,
  type ConfigTypes,
  type OptionalPath,
  type Setting,
} from './config-keys.ts';

/** A configuration that cannot be used: the message says which key, where it came from and what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Values = ReadonlyMap<string, unknown>;

function typeError(key: ConfigKey, source: string, expected: string): ConfigError {
  return new ConfigError(`${key.path} (${source}) must be ${expected}. ${key.description}`);
}

const MAX_TIMER_MS = 2 ** 31 - 1;

function checkNumber(key: ConfigKey, value: number, source: string): number {
  if (!Number.isFinite(value) || (key.type === 'integer' && !Number.isSafeInteger(value)))
    throw typeError(key, source, `a${key.type === 'integer' ? 'n integer' : ' number'}`);
  if (key.minimum !== undefined && value < key.minimum)
    throw typeError(key, source, `at least ${key.minimum}${key.type === 'duration' ? 'ms' : ''}`);
  return value;
}

function checkRegions(key: ConfigKey, value: unknown, source: string): readonly Region[] {
  const bad = typeError(key, source, 'a list of {name, countries} with ISO 3166-1 alpha-2 codes');
  if (!Array.isArray(value)) throw bad;
  return value.map((entry: unknown) => {
    const { name, countries } = isRecord(entry) ? entry : {};
    if (typeof name !== 'string' || name === '' || !Array.isArray(countries)) throw bad;
    const codes = countries.map((country) => String(country).toUpperCase());
    if (!codes.every(isCountry) || countries.some((country) => String(country).length !== 2)) throw bad;
    return { name, countries: codes };
  });
}

function checkAmounts(key: ConfigKey, value: unknown, source: string): KindAmounts {
  const bad = typeError(
    key,
    source,
    `an object of kind (${QUOTA_KINDS.join(', ')}) and a number of 0 or more`,
  );
  if (!isRecord(value)) throw bad;
  const amounts: { -readonly [K in keyof KindAmounts]: KindAmounts[K] } = {};
  for (const [kind, amount] of Object.entries(value)) {
    if (!isOneOf(QUOTA_KINDS, kind) || !isIntegerWithin(amount, 0, Number.MAX_SAFE_INTEGER)) throw bad;
    amounts[kind] = amount;
  }
  return amounts;
}

/** Undefined when the text is not JSON: then it is no list either, and is refused as such. */
function jsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One value of one key; text (from a variable or a flag) is read by the key's type. */
function convert(key: ConfigKey, value: unknown, source: string): ConfigTypes[keyof ConfigTypes] {
  const fromText = typeof value === 'string' && source !== 'berth.yaml' && !source.endsWith('.yaml');
  switch (key.type) {
    case 'string':
      if (typeof value !== 'string') throw typeError(key, source, 'text');
      return value;
    case 'duration': {
      const ms = typeof value === 'string' ? parseDuration(value) : undefined;
      if (ms === undefined) throw typeError(key, source, 'a duration such as 15s or 500ms');
      // A timer takes no more: beyond it, it would fire at once and without end.
      if (ms > MAX_TIMER_MS) throw typeError(key, source, 'at most 596h');
      return checkNumber(key, ms, source);
    }
    case 'integer':
    case 'number':
      return checkNumber(
        key,
        typeof value === 'number' ? value : fromText && value !== '' ? Number(value) : Number.NaN,
        source,
      );
    case 'boolean':
      if (typeof value === 'boolean') return value;
      if (fromText && (value === 'true' || value === 'false')) return value === 'true';
      throw typeError(key, source, 'true or false');
    case 'strings': {
      const list = fromText
        ? value
            .split(',')
            .map((part) => part.trim())
            .filter((part) => part !== '')
        : value;
      if (!Array.isArray(list) || !list.every((part) => typeof part === 'string'))
        throw typeError(key, source, 'a list of texts');
      return list;
    }
    case 'amounts':
      return checkAmounts(key, fromText ? jsonText(value) : value, source);
    case 'regions':
      return checkRegions(key, fromText ? jsonText(value) : value, source);
  }
}

function flatten(
  value: Readonly<Record<string, unknown>>,
  prefix: string,
  known: ReadonlySet<string>,
  into: Map<string, unknown>,
): void {
  for (const [name, member] of Object.entries(value)) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    if (!known.has(path) && isRecord(member)) flatten(member, path, known, into);
    else into.set(path, member);
  }
}

function readFile(path: string): Map<string, unknown> {
  let parsed: unknown;
  try {
    parsed = yaml().parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError(`${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
  parsed ??= {};
  if (!isRecord(parsed)) throw new ConfigError(`${path} must hold settings as key: value`);
  const known = new Set<string>(CONFIG_KEYS.map((key) => key.path));
  const flat = new Map<string, unknown>();
  flatten(parsed, '', known, flat);
  for (const name of flat.keys()) {
    if (known.has(name)) continue;
    const near = nearest(name, [...known]);
    throw new ConfigError(
      `${path}: unknown key ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
    );
  }
  return flat;
}

export function variableOf(path: string): string {
  return `BERTH_${path
    .replaceAll('.', '_')
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toUpperCase()}`;
}

/** Variables that are not settings of the server. */
const OTHER_VARIABLES = new Set(['BERTH_BOOTSTRAP_TOKEN', 'BERTH_CONFIG']);
const FOREIGN_PREFIXES = ['BERTH_TEST_', 'BERTH_AGENT_', 'BERTH_CLI_'];

function readVariables(environment: NodeJS.ProcessEnv): Map<string, unknown> {
  const byVariable = new Map<string, ConfigKey>(CONFIG_KEYS.map((key) => [variableOf(key.path), key]));
  const found = new Map<string, unknown>();
  for (const [name, value] of Object.entries(environment)) {
    if (
      !name.startsWith('BERTH_') ||
      OTHER_VARIABLES.has(name) ||
      FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix))
    )
      continue;
    const key = byVariable.get(name);
    if (key === undefined) {
      const near = nearest(name, [...byVariable.keys()]);
      throw new ConfigError(`unknown variable ${name}${near === undefined ? '' : `; did you mean ${near}?`}`);
    }
    found.set(key.path, value);
  }
  return found;
}

function readFlags(args: readonly string[]): {
  readonly flags: Map<string, unknown>;
  readonly file?: string;
} {
  const byFlag = new Map<string, ConfigKey>(
    CONFIG_KEYS.flatMap((key: ConfigKey) => (key.flag === undefined ? [] : [[key.flag, key] as const])),
  );
  const flags = new Map<string, unknown>();
  let file: string | undefined;
  for (let index = 0; index < args.length; index += 1) {
    const [name = '', inline] = (args[index] ?? '').split(/=(.*)/s, 2);
    const key = byFlag.get(name);
    if (key === undefined && name !== '--config') {
      const near = nearest(name, [...byFlag.keys(), '--config', '--help']);
      throw new ConfigError(`unknown flag ${name}${near === undefined ? '' : `; did you mean ${near}?`}`);
    }
    let value = inline;
    if (value === undefined && key?.type === 'boolean') value = 'true';
    if (value === undefined) {
      index += 1;
      value = args[index];
    }
    // The next flag is no value: --data-dir --listen … would make a folder of that name.
    if (value === undefined || (inline === undefined && value.startsWith('--')))
      throw new ConfigError(`${name} needs a value`);
    if (key === undefined) file = value;
    else flags.set(key.path, value);
  }
  return { flags, ...(file === undefined ? {} : { file }) };
}

/** berth.yaml, then BERTH_* variables, then flags. */
export function loadValues(args: readonly string[], environment: NodeJS.ProcessEnv): Values {
  const { flags, file } = readFlags(args);
  const configFile =
    file ?? environment['BERTH_CONFIG'] ?? (existsSync('berth.yaml') ? 'berth.yaml' : undefined);
  const layers: readonly (readonly [string, Map<string, unknown>])[] = [
    ...(configFile === undefined
      ? []
      : [[configFile.endsWith('.yaml') ? configFile : `${configFile}.yaml`, readFile(configFile)] as const]),
    ['environment', readVariables(environment)],
    ['flag', flags],
  ];
  const values = new Map<string, unknown>();
  const keys: readonly ConfigKey[] = CONFIG_KEYS;
  for (const key of keys) {
    const usual = key.default;
    if (usual !== undefined)
      values.set(
        key.path,
        key.type === 'duration' && typeof usual === 'string' ? parseDuration(usual) : usual,
      );
    for (const [source, layer] of layers) {
      if (layer.has(key.path)) values.set(key.path, convert(key, layer.get(key.path), source));
    }
  }
  return values;
}

export interface Config {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly baseUrl?: string;
  /** Where other control planes reach this one; absent: worked out from the listener. */
  readonly advertiseUrl?: string;
  readonly nodeName: string;
  readonly logLevel: string;
  readonly tls?: { readonly cert: string; readonly key: string; readonly next?: string };
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

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:]*):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2] ?? Number.NaN);
  if (match === null || !(port <= 65_535))
    throw new ConfigError(`listen must be host:port, e.g. 127.0.0.1:7600, not ${text}`);
  const host = (match[1] ?? '').replaceAll(/[[\]]/g, '');
  return { host: host === '' ? '127.0.0.1' : host, port };
}

function advertised(url: string | undefined): { readonly advertiseUrl?: string } {
  if (url === undefined) return {};
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ConfigError(`advertiseUrl must be a URL such as https://10.0.0.1:7600, not ${url}`);
  return { advertiseUrl: new URL(url).origin };
}

function memoryOf(path: string, text: string): number {
  const bytes = text === '0' ? 0 : parseMemory(text);
  if (bytes === undefined)
    throw new ConfigError(`${path} must be bytes with a unit such as 128Mi, not ${text}`);
  return bytes;
}

function oneOf<T extends string>(path: string, value: string, allowed: readonly T[]): T {
  if (isOneOf(allowed, value)) return value;
  throw new ConfigError(`${path} must be one of: ${allowed.join(', ')}; not ${value}`);
}

function acceptedDefaults(given: ContainerDefaults): ContainerDefaults {
  for (const field of CONTAINER_DEFAULT_FIELDS) {
    const { fits, form } = ACCEPTED_CONTAINER_DEFAULTS[field];
    if (!fits(given[field]))
      throw new ConfigError(`containers.${field} must be ${form}; not ${given[field]}`);
  }
  return given;
}

/** Less than 13 containers and a gateway is no node. */
const SMALLEST_SUBNET = 28;

function acmeDirectory(url: string): string {
  if (URL.canParse(url) && new URL(url).protocol === 'https:') return url;
  throw new ConfigError(`ingress.acme.directory must be an https address, not ${url}`);
}

/** What ingress nodes keep is shown to nobody. */
function grantable(namespaces: readonly string[]): readonly string[] {
  if (!namespaces.includes(INGRESS_NAMESPACE)) return namespaces;
  throw new ConfigError(`secrets.namespaces cannot hold ${INGRESS_NAMESPACE}, which is Berth's own`);
}

/** Addresses that no machine may be given. */
const SPECIAL = [
  { network: { base: 0, bits: 8 }, what: 'addresses without a meaning of their own (0.0.0.0/8)' },
  { network: { base: 127 * 2 ** 24, bits: 8 }, what: 'the addresses of every machine itself (127.0.0.0/8)' },
  {
    network: { base: 169 * 2 ** 24 + 254 * 2 ** 16, bits: 16 },
    what: 'link-local addresses (169.254.0.0/16)',
  },
  { network: { base: 224 * 2 ** 24, bits: 3 }, what: 'multicast and reserved addresses (224.0.0.0/3)' },
] as const;

/** Both prefixes are routed on every node of a tenant: they must not meet. */
function networkPrefixes(nodes: string, nodeBits: number, virtual: string): NetworkPrefixes {
  const form = 'an IPv4 network such as 10.210.0.0/16';
  const [all, own] = [parseCidr(nodes), parseCidr(virtual)];
  if (all === undefined) throw new ConfigError(`network.prefix must be ${form}, not ${nodes}`);
  if (own === undefined) throw new ConfigError(`network.virtualPrefix must be ${form}, not ${virtual}`);
  for (const [setting, network] of [
    ['network.prefix', all],
    ['network.virtualPrefix', own],
  ] as const) {
    const special = SPECIAL.find((one) => overlap(network, one.network));
    if (special !== undefined)
      throw new ConfigError(`${setting} ${cidrText(network)} meets ${special.what}; name ${form}`);
  }
  if (own.bits > SMALLEST_SUBNET)
    throw new ConfigError(
      `network.virtualPrefix ${virtual} has no room for deployments; name one of /${SMALLEST_SUBNET} or larger`,
    );
  if (overlap(all, own))
    throw new ConfigError(
      `network.virtualPrefix ${virtual} overlaps network.prefix ${nodes}; name another one`,
    );
  if (nodeBits < all.bits || nodeBits > SMALLEST_SUBNET)
    throw new ConfigError(`network.nodeBits must be from ${all.bits} to ${SMALLEST_SUBNET}, not ${nodeBits}`);
  return { nodes, nodeBits, virtual };
}

/** Where the root key of the embedded secrets store comes from: exactly one place. */
export type RootKeySource =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'credential'; readonly file: string }
  | { readonly kind: 'command'; readonly command: readonly string[] };

function rootKeySource(
  named: string | undefined,
  command: readonly string[],
  usual: string,
  credentials: string | undefined,
): RootKeySource {
  const credential = credentials === undefined ? undefined : join(credentials, 'root.key');
  const found: readonly (readonly [string, RootKeySource])[] = [
    ...(named === undefined ? [] : [['keys.rootKeyFile', { kind: 'file', file: named }] as const]),
    ...(command.length === 0 ? [] : [['keys.rootKeyCommand', { kind: 'command', command }] as const]),
    ...(credential === undefined || !existsSync(credential)
      ? []
      : [['the systemd credential root.key', { kind: 'credential', file: credential }] as const]),
    ...(named === undefined && existsSync(usual) ? [[usual, { kind: 'file', file: usual }] as const] : []),
  ];
  if (found.length > 1)
    throw new ConfigError(
      `root_key_ambiguous: the root key has ${found.length} sources: ${found.map(([name]) => name).join(', ')}. Keep the one that opens this store's secrets, and take the others away.`,
    );
  return found[0]?.[1] ?? { kind: 'file', file: usual };
}

/** For messages. */
export function rootKeyPlace(source: RootKeySource): string {
  return source.kind === 'command' ? `what ${source.command[0]} prints` : source.file;
}

export function loadConfig(args: readonly string[], environment: NodeJS.ProcessEnv): Config {
  const values = loadValues(args, environment);
  const setting = <P extends ConfigPath>(path: P): Setting<P> => values.get(path) as Setting<P>;
  const present = <K extends string>(key: K, path: OptionalPath) => optional(key, setting(path));
  const dataDir = resolve(setting('dataDir'));
  const { host, port } = parseListen(setting('listen'));
  const cert = setting('tls.cert');
  const key = setting('tls.key');
  if ((cert === undefined) !== (key === undefined)) throw new ConfigError('tls.cert and tls.key go together');
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
    ...advertised(setting('advertiseUrl')),
    nodeName: setting('nodeName') ?? hostname().toLowerCase(),
    logLevel: oneOf('logLevel', setting('logLevel'), ['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    ...(cert === undefined || key === undefined
      ? {}
      : { tls: { cert, key, ...present('next', 'tls.next') } }),
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
