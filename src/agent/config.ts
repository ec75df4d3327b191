import { messageOf, optional } from '../core/model/values.ts';
import { nearest } from '../core/schema/nearest.ts';
import { nodeNameOf } from '../core/model/host-name.ts';
import { LABEL_DOMAIN, NODE_LABELS, nodeLabelIn } from '../core/model/labels.ts';
import { isMachineAddress, parseAddress } from '../core/model/ipv4.ts';
import { MESH_PORT } from '../core/model/mesh.ts';
import { portRange } from '../core/model/port-ranges.ts';
import { parseDuration } from '../core/model/quantity.ts';
import { withoutTrailing } from '../core/model/text-end.ts';
import { FLAGS, type Flag, type FlagName } from './flags.ts';
import type { CleaningSettings } from './cleaning/cleaner.ts';
import { SAVED_FLAGS, type SavedSettings } from './saved-settings.ts';
import { isExempt, parseProxy, type Proxy, type WayOut } from './session/proxy.ts';
import { VOLUME_ENGINES } from './volumes/names.ts';
import { LOG_LEVELS, type LogLevel } from '../core/model/log-level.ts';

export interface AgentConfig {
  /** Empty: as stored. Any of them may be dialled; the first one first. */
  readonly servers: readonly string[];
  readonly join: JoinSource | undefined;
  readonly caDigest: string | undefined;
  /** PEM, beside what the machine trusts. */
  readonly caFile: string | undefined;
  readonly proxyFor: WayOut['proxyFor'];
  readonly name: string;
  /** False: the name was taken from the host. */
  readonly nameGiven: boolean;
  readonly dataDir: string;
  readonly engine: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly bindRoots: readonly string[];
  /** Absent: all. */
  readonly hostPorts: readonly string[] | undefined;
  /** Containers reach the metadata addresses of clouds. */
  readonly metadataAllowed: boolean;
  /** `leave`: what outlives the agent is removed; `check`: nothing is changed; `enrol`: it ends once it is registered. */
  readonly purpose: 'run' | Purpose;
  /** Absent: no part in the mesh. */
  readonly mesh?: { readonly port: number; readonly advertise: readonly string[] };
  /** Absent: it serves no ingress. */
  readonly ingress?: { readonly http: number; readonly https: number };
  /** Absent: the first that works. */
  readonly volumeEngine: string | undefined;
  readonly copyIntervalMs: number;
  readonly cleaning: CleaningSettings;
  readonly logLevel: LogLevel;
  readonly warnings: readonly string[];
  /** For the next starts. */
  readonly saved: SavedSettings;
  /** Taken from an earlier start, as flags. */
  readonly recalled: readonly string[];
}

export type JoinSource =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'file'; readonly path: string };

export type Reading =
  | { readonly kind: 'config'; readonly config: AgentConfig }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'problem'; readonly message: string };

type Given = Partial<Record<FlagName, readonly string[]>>;
type Environment = Readonly<Record<string, string | undefined>>;

class Problem extends Error {}

const MAX_RANGES = 64;
const DATA_DIR = '/var/lib/berth-agent';

/** Flags before variables before what an earlier start was given before defaults; nothing unknown is ignored. */
export function readConfig(
  argv: readonly string[],
  environment: Environment,
  hostname: string,
  recall: (dataDir: string) => SavedSettings = () => ({}),
): Reading {
  try {
    const flags = readFlags(argv);
    if (flags.help !== undefined) return { kind: 'help' };
    if (flags.version !== undefined) return { kind: 'version' };
    refuseUnknownVariables(environment);
    const given: Given = { ...readVariables(environment), ...flags };
    const before = savedIn(recall, given['data-dir']?.[0] ?? DATA_DIR);
    return {
      kind: 'config',
      config: {
        ...toConfig(withoutEmpty({ ...before, ...given }), hostname, environment),
        saved: mergeSettings(before, flags),
        recalled: SAVED_FLAGS.filter((name) => given[name] === undefined).flatMap((name) =>
          (before[name] ?? []).map((value) => `--${name} ${name === 'proxy' ? withoutUser(value) : value}`),
        ),
      },
    };
  } catch (error) {
    if (error instanceof Problem) return { kind: 'problem', message: error.message };
    throw error;
  }
}

function savedIn(recall: (dataDir: string) => SavedSettings, dataDir: string): SavedSettings {
  try {
    return recall(dataDir);
  } catch (error) {
    throw new Problem(messageOf(error));
  }
}

/** `--label=` takes away what an earlier start was given. */
function withoutEmpty(given: Given): Given {
  const forgotten: readonly FlagName[] = SAVED_FLAGS.filter((name) => given[name]?.join('') === '');
  return Object.fromEntries(Object.entries(given).filter(([name]) => !forgotten.some((one) => one === name)));
}

function mergeSettings(before: SavedSettings, flags: Given): SavedSettings {
  const merged: Given = { ...before };
  for (const name of SAVED_FLAGS) if (flags[name] !== undefined) merged[name] = flags[name];
  return withoutEmpty(merged);
}

function readFlags(argv: readonly string[]): Given {
  const given: Partial<Record<FlagName, string[]>> = {};
  const rest = argv[0] === 'repin' ? ['--repin', ...argv.slice(1)] : [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = '', , inline] =
      /^--([^=]*)(=([\s\S]*))?$/.exec(argument === '-h' ? '--help' : argument) ?? [];
    const known = FLAGS.find((one) => one.name === name);
    // A misplaced token must not be echoed.
    if (known === undefined) throw new Problem(unknown(argument.startsWith('--') ? `--${name}` : undefined));
    const flag: Flag = known;
    if (flag.value === undefined && inline !== undefined) throw new Problem(`--${name} takes no value`);
    const value = flag.value === undefined ? '' : (inline ?? rest.shift());
    if (value === undefined || (inline === undefined && value.startsWith('--'))) {
      throw new Problem(`--${name} needs a value: --${name} ${flag.value}`);
    }
    const before = given[known.name] ?? [];
    if (before.length > 0 && flag.separator === undefined) throw new Problem(`--${name} is given twice`);
    given[known.name] = [...before, value];
  }
  return given;
}

function unknown(flag: string | undefined): string {
  if (flag === undefined) return 'the agent takes flags only; see berth agent --help';
  const near = nearest(
    flag,
    FLAGS.map(({ name }) => `--${name}`),
  );
  return `unknown flag ${flag}${near === undefined ? '' : `; did you mean ${near}?`} See berth agent --help`;
}

const VARIABLE_PREFIX = 'BERTH_AGENT_';

function refuseUnknownVariables(environment: Environment): void {
  const known = FLAGS.flatMap((flag: Flag) => flag.variable ?? []);
  const odd = Object.keys(environment).find((key) => key.startsWith(VARIABLE_PREFIX) && !known.includes(key));
  if (odd === undefined) return;
  const near = nearest(odd, known);
  throw new Problem(`unknown variable ${odd}${near === undefined ? '' : `; did you mean ${near}?`}`);
}

function readVariables(environment: Environment): Given {
  const entries = FLAGS.flatMap((flag: Flag) => {
    const value = flag.variable === undefined ? undefined : environment[flag.variable];
    if (value === undefined || value === '') return [];
    const values = flag.separator === undefined ? [value] : value.split(flag.separator);
    return [[flag.name, values.map((one) => one.trim()).filter((one) => one !== '')] as const];
  });
  return Object.fromEntries(entries);
}

function toConfig(
  given: Given,
  hostname: string,
  environment: Environment,
): Omit<AgentConfig, 'saved' | 'recalled'> {
  const one = (name: FlagName): string | undefined => given[name]?.[0];
  const labels = (given.label ?? []).map(label);
  const name = one('name') ?? sanitisedName(hostname);
  const caDigest = one('ca-digest');
  const { proxyFor, unusable } = proxies(one('proxy'), environment);
  return {
    servers: [...new Set((given.server ?? []).flatMap((text) => text.split(',')).map(serverUrl))],
    join: joinSource(one('join'), one('join-file')),
    caDigest: caDigest === undefined ? undefined : digest(caDigest),
    caFile: optionalPath('ca-file', one('ca-file')),
    proxyFor,
    name: nodeName(name),
    nameGiven: one('name') !== undefined,
    dataDir: absolute('data-dir', one('data-dir') ?? DATA_DIR),
    engine: one('engine'),
    labels: Object.fromEntries(labels),
    bindRoots: (given['bind-root'] ?? []).map((root) => absolute('bind-root', root)),
    hostPorts: given['host-ports'] && hostPorts(given['host-ports']),
    metadataAllowed: isAllowed(one('metadata') ?? 'blocked'),
    purpose: purposeOf(given),
    ...meshOf(one('mesh') ?? String(MESH_PORT), given['advertise-address'] ?? []),
    ...ingressOf(one('ingress') ?? 'off', one('mesh')),
    volumeEngine: volumeEngine(one('volume-engine')),
    copyIntervalMs: copyInterval(one('volume-copy-interval') ?? '1s'),
    cleaning: {
      ...diskOf(one('clean-disk') ?? '80,70'),
      ...optional('unusedMs', timeOf('clean-unused', one('clean-unused') ?? '720h')),
      ...optional('divergedMs', timeOf('clean-diverged', one('clean-diverged') ?? '720h')),
    },
    logLevel: logLevel(one('log-level') ?? 'info'),
    warnings: [...labels.flatMap(([key]) => labelWarning(key)), ...unusable],
  };
}

const PURPOSES = ['leave', 'check', 'enrol', 'repin'] as const satisfies readonly FlagName[];
type Purpose = (typeof PURPOSES)[number];

function purposeOf(given: Given): AgentConfig['purpose'] {
  const [one = 'run', other] = PURPOSES.filter((name) => given[name] !== undefined);
  if (other !== undefined) throw new Problem(`--${one} and --${other} exclude each other`);
  return one;
}

const NODE_NAME = /^[a-z0-9][a-z0-9.-]{0,62}$/;

function nodeName(name: string): string {
  if (!NODE_NAME.test(name)) {
    throw new Problem(
      `--name ${name}: a node name has 1 to 63 lower-case letters, digits, dots and hyphens, and starts with a letter or digit`,
    );
  }
  return name;
}

export function sanitisedName(hostname: string): string {
  const name = nodeNameOf(hostname);
  return name === '' ? 'node' : name;
}

function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Problem(`--server ${text}: expected an address such as https://berth.example.com`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Problem('--server: an address without user, query and fragment is expected');
  }
  return `${url.origin}${withoutTrailing(url.pathname, '/')}`;
}

function joinSource(token: string | undefined, path: string | undefined): JoinSource | undefined {
  if (token !== undefined && path !== undefined) throw new Problem('give --join or --join-file, not both');
  if (token !== undefined) return { kind: 'token', token };
  return path === undefined ? undefined : { kind: 'file', path };
}

function digest(text: string): string {
  if (!/^sha256:[0-9a-fA-F]{64}$/.test(text)) {
    throw new Problem('--ca-digest: expected sha256: and 64 hexadecimal digits');
  }
  return text.toLowerCase();
}

function label(text: string): readonly [string, string] {
  const read = nodeLabelIn(text);
  if (read !== undefined) return read;
  throw new Problem(`--label ${text}: expected KEY=VALUE, e.g. ${NODE_LABELS.country}=DE`);
}

/** A residency label without its domain looks right and satisfies nothing. */
function labelWarning(key: string): readonly string[] {
  const meant = `${LABEL_DOMAIN}${key}`;
  const known: readonly string[] = Object.values(NODE_LABELS);
  return known.includes(meant) ? [`label ${key} says nothing about residency; that label is ${meant}`] : [];
}

function logLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((one) => one === text);
  if (level === undefined) throw new Problem(`--log-level ${text}: expected one of ${LOG_LEVELS.join(', ')}`);
  return level;
}

/** `none` allows no port, which is something else than no list. */
function hostPorts(given: readonly string[]): readonly string[] {
  const texts = given.flatMap((text) => text.split(',')).map((text) => text.trim());
  if (texts.length === 1 && texts[0] === 'none') return [];
  const odd = texts.find((text) => portRange(text) === undefined);
  if (odd !== undefined)
    throw new Problem(`--host-ports ${odd}: expected ports from 1 to 65535, e.g. 443,8000-8999, or none`);
  if (texts.length > MAX_RANGES) throw new Problem(`--host-ports: at most ${MAX_RANGES} ports and ranges`);
  return texts;
}

function isAllowed(text: string): boolean {
  if (text !== 'allowed' && text !== 'blocked')
    throw new Problem(`--metadata ${text}: expected blocked or allowed`);
  return text === 'allowed';
}

function meshOf(port: string, addresses: readonly string[]): Pick<AgentConfig, 'mesh'> {
  const advertise = addresses.flatMap((text) => text.split(',')).map((text) => text.trim());
  const odd = advertise.find((text) => parseAddress(text) === undefined);
  if (odd !== undefined)
    throw new Problem(`--advertise-address ${odd}: expected an IPv4 address such as 203.0.113.7`);
  const nobodys = advertise.find((text) => !isMachineAddress(text));
  if (nobodys !== undefined)
    throw new Problem(
      `--advertise-address ${nobodys}: other machines cannot reach this address; expected one of this machine or of what forwards to it`,
    );
  if (port === 'off') return {};
  if (!/^[0-9]{1,5}$/.test(port) || Number(port) < 1 || Number(port) >= 65_535)
    throw new Problem(`--mesh ${port}: expected a UDP port from 1 to 65534, or off`);
  return { mesh: { port: Number(port), advertise } };
}

/** What it serves is reached over the mesh. */
function ingressOf(text: string, mesh: string | undefined): Pick<AgentConfig, 'ingress'> {
  if (text === 'off') return {};
  const [http, https, ...more] = (text === 'on' ? '80,443' : text)
    .split(',')
    .map((port) => portRange(port.trim()));
  const single = [http, https].every((port) => port !== undefined && port.from === port.to);
  if (!single || http === undefined || https === undefined || more.length > 0 || http.from === https.from)
    throw new Problem(`--ingress ${text}: expected on, off, or two ports for HTTP and HTTPS, e.g. 8080,8443`);
  if (mesh === 'off')
    throw new Problem("--ingress needs the tenant's network: give --mesh a port, or --ingress off");
  return { ingress: { http: http.from, https: https.from } };
}

function volumeEngine(name: string | undefined): string | undefined {
  if (name !== undefined && !VOLUME_ENGINES.includes(name)) {
    throw new Problem(`--volume-engine ${name}: expected one of ${VOLUME_ENGINES.join(', ')}`);
  }
  return name;
}

function copyInterval(text: string): number {
  const seconds = Number(/^(\d+(?:\.\d+)?)s$/.exec(text)?.[1]);
  if (!(seconds >= 1 && seconds <= 60))
    throw new Problem(`--volume-copy-interval ${text}: expected 1s to 60s`);
  return seconds * 1000;
}

const LEAST_CLEANING_MS = 3_600_000;

function diskOf(text: string): Pick<CleaningSettings, 'disk'> {
  if (text === 'off') return {};
  const [from, to] = (/^(\d{1,3}),(\d{1,3})$/.exec(text) ?? []).slice(1).map(Number);
  if (from === undefined || to === undefined || to < 1 || from <= to || from > 100)
    throw new Problem(
      `--clean-disk ${text}: expected two percentages, the second one lower, e.g. 80,70, or off`,
    );
  return { disk: { from, to } };
}

/** Undefined: off. */
function timeOf(flag: FlagName, text: string): number | undefined {
  if (text === 'off') return undefined;
  const ms = parseDuration(text);
  if (ms === undefined || ms < LEAST_CLEANING_MS)
    throw new Problem(`--${flag} ${text}: expected a time of 1h or more, e.g. 720h, or off`);
  return ms;
}

/** For logs. */
function withoutUser(proxy: string): string {
  const user = proxy.lastIndexOf('@');
  return user === -1 ? proxy : `${proxy.slice(0, proxy.indexOf('//') + 2)}${proxy.slice(user + 1)}`;
}

/** May have a password in it, so that it is not said. */
const EXPECTED_PROXY = 'expected the address of an HTTP proxy such as http://proxy.example.com:3128';

/** Variables are for every program of the machine, some of which know other proxies too: what is none for the agent is passed over, and told. */
function proxies(
  given: string | undefined,
  environment: Environment,
): Pick<WayOut, 'proxyFor'> & { readonly unusable: readonly string[] } {
  if (given === 'off') return { proxyFor: () => undefined, unusable: [] };
  if (given !== undefined) {
    const proxy = parseProxy(given);
    if (proxy === undefined) throw new Problem(`--proxy: ${EXPECTED_PROXY}, or off`);
    return { proxyFor: () => proxy, unusable: [] };
  }
  const unusable: string[] = [];
  const named = (name: string): string => environment[name] ?? environment[name.toLowerCase()] ?? '';
  const read = (name: string): Proxy | undefined => {
    const text = named(name);
    const proxy = text === '' ? undefined : parseProxy(text);
    if (text !== '' && proxy === undefined) unusable.push(`${name} is not used: ${EXPECTED_PROXY}`);
    return proxy;
  };
  const [secure, plain] = [read('HTTPS_PROXY'), read('HTTP_PROXY')];
  const except = named('NO_PROXY');
  return {
    proxyFor: (server) =>
      isExempt(server, except) ? undefined : server.protocol === 'https:' ? secure : plain,
    unusable,
  };
}

function optionalPath(flag: FlagName, path: string | undefined): string | undefined {
  return path === undefined ? undefined : absolute(flag, path);
}

function absolute(flag: FlagName, path: string): string {
  if (!path.startsWith('/')) throw new Problem(`--${flag} ${path}: expected an absolute path`);
  return path.length > 1 ? withoutTrailing(path, '/') : path;
}
