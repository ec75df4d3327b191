import type {
  AgentMessage,
  Ask,
  Hello,
  InstanceUsage,
  Report,
  Resolve,
  StoreMark,
  StreamData,
  StreamEnd,
  VolumeMeasurement,
  VolumeObservation,
} from '../../core/contract/agent-protocol.ts';
import type { InstanceId } from '../../core/model/ids.ts';
import type { ContainerPhase, InstanceObservation } from '../../core/model/instance.ts';
import type { NetworkObservation } from '../../core/model/network.ts';
import { portRange } from '../../core/model/port-ranges.ts';

/**
 * An agent runs on a tenant's machine and may say anything. What comes out of here has the known fields only, in bounds, so
 * that nothing else can reach the store. Unknown fields of a newer agent are passed over; a wrong one makes the message malformed.
 */
type Fields = Readonly<Record<string, unknown>>;

const MAX_TEXT = 1024;
const MAX_ENTRIES = 5000;
const MAX_LABELS = 256;
const MAX_PORTS = 64;
const MAX_ENGINES = 8;
const MAX_FEATURES = 32;
const MAX_RANGES = 64;
const MAX_PROBLEMS = 8;
const MAX_COPIES = 256;
/** Members of all lists and objects of a message: a whole report of as many containers and volumes as a node may have. */
const MAX_PARTS = 300_000;
/** Of an answer, which is read as it is. */
const MAX_VALUE_PARTS = 50_000;
const MAX_DEPTH = 32;
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

class Malformed extends Error {}

function fields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed();
  return value as Fields;
}

function text(value: unknown, max = MAX_TEXT): string {
  if (typeof value !== 'string' || value.length > max || !value.isWellFormed()) throw new Malformed();
  return value;
}

/** For words that people read: cut rather than refused, control characters removed. */
function words(value: unknown): string {
  if (typeof value !== 'string') throw new Malformed();
  return value
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replaceAll(/(?![\t\n])\p{Cc}/gu, ' ');
}

function integer(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new Malformed();
  return value as number;
}

function bytes(value: unknown): number {
  const found = integer(value);
  if (found < 0) throw new Malformed();
  return found;
}

function amount(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new Malformed();
  return value;
}

function list(value: unknown, max = MAX_ENTRIES): readonly unknown[] {
  if (!Array.isArray(value) || value.length > max) throw new Malformed();
  return value;
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new Malformed();
  return found;
}

/** Level by level, so that depth is counted and not walked into. */
function bounded(value: unknown, maxParts: number): void {
  let parts = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw new Malformed();
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      for (const member of Object.values(one)) {
        parts += 1;
        if (parts > maxParts) throw new Malformed();
        next.push(member);
      }
    }
    level = next;
  }
}

/** `{key: decoded}` when the field is there, nothing otherwise: absent and undefined are not the same on the wire. */
function optional<K extends string, T>(
  source: Fields,
  key: K,
  decode: (value: unknown) => T,
): { readonly [P in K]?: T } {
  const value = source[key];
  return (value === undefined || value === null ? {} : { [key]: decode(value) }) as { readonly [P in K]?: T };
}

function labels(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(fields(value));
  if (entries.length > MAX_LABELS) throw new Malformed();
  return Object.fromEntries(entries.map(([key, member]) => [text(key), text(member, 4096)]));
}

function storeMark(value: unknown): StoreMark {
  const mark = fields(value);
  return {
    installId: text(mark['installId']),
    start: text(mark['start']),
    revision: integer(mark['revision']),
  };
}

function hello(source: Fields): Hello {
  const capacity = fields(source['capacity']);
  const engine = fields(source['engine']);
  return {
    type: 'hello',
    protocol: integer(source['protocol']),
    node: text(source['node']),
    epoch: integer(source['epoch']),
    signature: text(source['signature']),
    agentVersion: text(source['agentVersion']),
    engine: { kind: text(engine['kind']), version: text(engine['version']) },
    platform: text(source['platform']),
    capacity: { cpu: amount(capacity['cpu']), memoryBytes: amount(capacity['memoryBytes']) },
    labels: labels(source['labels']),
    ...optional(source, 'volumeEngines', (engines) => list(engines, MAX_ENGINES).map(reason)),
    ...optional(source, 'features', (known) => list(known, MAX_FEATURES).map(reason)),
    ...optional(source, 'hostPorts', (ports) => list(ports, MAX_RANGES).map(ports16)),
    ...optional(source, 'problems', (problems) => list(problems, MAX_PROBLEMS).map(words)),
    ...optional(source, 'seen', storeMark),
  };
}

function ports16(value: unknown): string {
  const range = text(value);
  if (portRange(range) === undefined) throw new Malformed();
  return range;
}

const PHASES: readonly ContainerPhase[] = [
  'pending',
  'pulling',
  'creating',
  'starting',
  'running',
  'exited',
  'failed',
  'removed',
  'unknown',
];

function port(value: unknown): { readonly container: number; readonly host: number } {
  const { container, host } = fields(value);
  return { container: integer(container), host: integer(host) };
}

function reason(value: unknown): string {
  const found = text(value);
  if (!REASON.test(found)) throw new Malformed();
  return found;
}

function observation(value: unknown): InstanceObservation {
  const source = fields(value);
  return {
    id: text(source['id'], 64) as InstanceId,
    phase: oneOf(source['phase'], PHASES),
    ...optional(source, 'health', (health) => oneOf(health, ['starting', 'healthy', 'unhealthy'] as const)),
    ...optional(source, 'containerId', text),
    ...optional(source, 'containerName', text),
    ...optional(source, 'specHash', text),
    ...optional(source, 'secretsVersion', integer),
    ...optional(source, 'exitCode', integer),
    ...optional(source, 'restarts', integer),
    ...optional(source, 'reason', reason),
    ...optional(source, 'message', words),
    ...optional(source, 'startedAt', text),
    ...optional(source, 'healthySince', text),
    ...optional(source, 'ports', (ports) => list(ports, MAX_PORTS).map(port)),
  };
}

function usage(value: unknown): InstanceUsage {
  const source = fields(value);
  return {
    instanceId: text(source['instanceId'], 64),
    cpuPercent: amount(source['cpuPercent']),
    memoryBytes: amount(source['memoryBytes']),
  };
}

function copies(value: unknown): NonNullable<VolumeObservation['copies']> {
  return list(value, MAX_COPIES).map((entry) => {
    const copy = fields(entry);
    return {
      nodeId: text(copy['nodeId'], 64),
      state: oneOf(copy['state'], ['syncing', 'live', 'failed'] as const),
      ...optional(copy, 'sequence', integer),
      ...optional(copy, 'ageMs', amount),
      ...optional(copy, 'problem', words),
    };
  });
}

/** Sizes decide what is recommended: whole bytes, and no volume holds more than it is large. */
function measured(source: Fields): Pick<VolumeObservation, 'sizeBytes' | 'usedBytes'> {
  const { sizeBytes, usedBytes } = {
    ...optional(source, 'sizeBytes', bytes),
    ...optional(source, 'usedBytes', bytes),
  };
  return {
    ...(sizeBytes === undefined ? {} : { sizeBytes }),
    ...(usedBytes === undefined ? {} : { usedBytes: Math.min(usedBytes, sizeBytes ?? usedBytes) }),
  };
}

/** What the agent of a primary answers when it is asked to measure; undefined: not that. */
export function parseVolumeMeasurement(value: unknown): VolumeMeasurement | undefined {
  try {
    const source = fields(value);
    const sizeBytes = bytes(source['sizeBytes']);
    return {
      sizeBytes,
      usedBytes: Math.min(bytes(source['usedBytes']), sizeBytes),
      epoch: integer(source['epoch']),
      shrinkable: source['shrinkable'] === true,
    };
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

function volume(value: unknown): VolumeObservation {
  const source = fields(value);
  return {
    volumeId: text(source['volumeId'], 128),
    role: oneOf(source['role'], ['primary', 'replica'] as const),
    epoch: integer(source['epoch']),
    state: oneOf(source['state'], ['preparing', 'ready', 'failed'] as const),
    ...optional(source, 'problem', (problem) => ({
      reason: reason(fields(problem)['reason']),
      message: words(fields(problem)['message']),
    })),
    ...measured(source),
    ...optional(source, 'shrinkable', (value) => value === true),
    ...optional(source, 'copy', (entry) => {
      const copy = fields(entry);
      return {
        epoch: integer(copy['epoch']),
        sequence: integer(copy['sequence']),
        takenAt: text(copy['takenAt'], 64),
      };
    }),
    ...optional(source, 'copies', copies),
    ...optional(source, 'diverged', (entries) =>
      list(entries, MAX_COPIES).map((entry) => ({
        epoch: integer(fields(entry)['epoch']),
        path: words(fields(entry)['path']),
      })),
    ),
  };
}

function network(value: unknown): NetworkObservation {
  const source = fields(value);
  return {
    name: text(source['name'], 64),
    state: oneOf(source['state'], ['ready', 'failed'] as const),
    ...optional(source, 'message', words),
  };
}

/** Of an instance that is named more than once, what was said last. */
function newest(observations: readonly InstanceObservation[]): readonly InstanceObservation[] {
  const byId = new Map(observations.map((one) => [one.id, one]));
  return byId.size === observations.length ? observations : [...byId.values()];
}

function report(source: Fields): Report {
  return {
    type: 'report',
    epoch: integer(source['epoch']),
    generation: integer(source['generation']),
    full: source['full'] === true,
    observations: newest(list(source['observations']).map(observation)),
    ...optional(source, 'engineProblem', words),
    ...optional(source, 'usage', (entries) => list(entries).map(usage)),
    ...optional(source, 'beat', integer),
    ...optional(source, 'volumes', (entries) => list(entries).map(volume)),
    ...optional(source, 'networks', (entries) => list(entries).map(network)),
  };
}

function ask(source: Fields): Ask {
  return {
    type: 'ask',
    epoch: integer(source['epoch']),
    instanceIds: list(source['instanceIds']).map((id) => text(id, 128)),
  };
}

function resolve(source: Fields): Resolve {
  return {
    type: 'resolve',
    requestId: text(source['requestId'], 128),
    instanceId: text(source['instanceId'], 128),
    specHash: text(source['specHash'], 128),
    secretsVersion: integer(source['secretsVersion']),
  };
}

function data(source: Fields): StreamData {
  bounded(source['value'], MAX_VALUE_PARTS);
  return {
    type: 'data',
    streamId: text(source['streamId'], 128),
    ...optional(source, 'text', (value) => (typeof value === 'string' ? value.toWellFormed() : text(value))),
    ...optional(source, 'base64', (value) => text(value, Number.POSITIVE_INFINITY)),
    ...optional(source, 'channel', (value) => oneOf(value, ['stdout', 'stderr'] as const)),
    ...(source['value'] === undefined ? {} : { value: source['value'] }),
  };
}

function end(source: Fields): StreamEnd {
  return {
    type: 'end',
    streamId: text(source['streamId'], 128),
    ...optional(source, 'exitCode', integer),
    ...optional(source, 'error', (value) => ({
      reason: words(fields(value)['reason']),
      message: words(fields(value)['message']),
    })),
  };
}

const DECODERS: { readonly [K in AgentMessage['type']]: (source: Fields) => AgentMessage } = {
  hello,
  report,
  ask,
  resolve,
  data,
  end,
  'credential-kept': ({ number }) => ({ type: 'credential-kept', number: integer(number) }),
};

/** Undefined: malformed, or of a type that this version does not know. */
export function decodeAgentMessage(frame: string): AgentMessage | undefined {
  try {
    const source = fields(JSON.parse(frame));
    bounded(source, MAX_PARTS);
    const { type } = source;
    return typeof type === 'string' && Object.hasOwn(DECODERS, type)
      ? DECODERS[type as AgentMessage['type']](source)
      : undefined;
  } catch (error) {
    if (error instanceof Malformed || error instanceof SyntaxError || error instanceof RangeError)
      return undefined;
    throw error;
  }
}
