import type {
  AssignedInstance,
  AssignedVolume,
  ServerMessage,
  StreamOperation,
} from '../core/contract/agent-protocol.ts';
import type { NetworkSettings } from '../core/model/network.ts';
import { type Fields, fields } from './engine/fields.ts';

/**
 * Reads a frame of the control plane. Undefined: not a message that this agent understands, e.g. one of a newer version,
 * which is passed over. What a container is made from is checked again where it is made.
 */
export function decodeServerMessage(frame: string): ServerMessage | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(frame);
  } catch {
    return undefined;
  }
  const message = fields(parsed);
  const type = message['type'] as ServerMessage['type'];
  // An own key: `constructor` is no message.
  return Object.hasOwn(SHAPES, type) && SHAPES[type](message) ? (parsed as ServerMessage) : undefined;
}

const SHAPES: { readonly [K in ServerMessage['type']]: (message: Fields) => boolean } = {
  challenge: (m) => isText(m['nonce']) && isCount(m['epoch']) && isCount(m['protocol']),
  welcome: (m) =>
    isCount(m['epoch']) &&
    isName(m['tenantId']) &&
    isName(m['tenantSlug']) &&
    isName(m['installId']) &&
    isCount(m['heartbeatMs']) &&
    isCount(m['silenceMs']) &&
    (m['usageMs'] === undefined || isCount(m['usageMs'])) &&
    (m['servers'] === undefined || isListOf(m['servers'], isText)) &&
    (m['anchors'] === undefined || isListOf(m['anchors'], isText)),
  credential: (m) => isText(m['token']) && isCount(m['number']),
  anchors: (m) => isListOf(m['anchors'], isText),
  assignment: (m) =>
    isCount(m['epoch']) &&
    isCount(m['generation']) &&
    (m['asOf'] === undefined || isStoreMark(m['asOf'])) &&
    isListOf(m['instances'], isAssignedInstance) &&
    (m['volumes'] === undefined || isListOf(m['volumes'], isAssignedVolume)) &&
    (m['networks'] === undefined || isListOf(m['networks'], isNetworkSettings)),
  lease: (m) => isCount(m['epoch']) && isCount(m['beat']) && isLeaseRepeat(m['repeat']),
  verdict: (m) => isCount(m['epoch']) && isListOf(m['remove'], isText),
  resolved: (m) =>
    isText(m['requestId']) &&
    (m['ok'] === true ? isTexts(m['environment']) && isRegistry(m['registry']) : isText(m['message'])),
  request: (m) => isText(m['streamId']) && isOperation(m['operation']),
  credit: (m) => isText(m['streamId']) && isCount(m['bytes']),
  cancel: (m) => isText(m['streamId']),
  farewell: (m) => isText(m['code']) && isText(m['message']) && typeof m['retry'] === 'boolean',
};

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 1_000_000;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && NAME.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isListOf(value: unknown, fits: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

function isTexts(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(isText);
}

function isRegistry(value: unknown): boolean {
  return value === undefined || (isText(fields(value)['username']) && isText(fields(value)['password']));
}

function isLeaseRepeat(value: unknown): boolean {
  const one = fields(value);
  return value === undefined || (isCount(one['port']) && isText(one['id']) && isText(one['key']));
}

function isStoreMark(value: unknown): boolean {
  const mark = fields(value);
  return isText(mark['installId']) && isText(mark['start']) && isCount(mark['revision']);
}

function isAssignedInstance(value: unknown): value is AssignedInstance {
  const one = fields(value);
  const known = isName(one['id']) && isName(one['deployment']) && isText(one['specHash']);
  if (!known || !isCount(one['secretsVersion']) || !isCount(one['attempt'])) return false;
  if (one['once'] !== undefined && !isOnce(fields(one['once']))) return false;
  return one['wanted'] === 'stop' || (one['wanted'] === 'run' && isAssignedContainer(one['container']));
}

function isOnce({ timeoutMs, end, started }: Fields): boolean {
  return (
    (timeoutMs === undefined || isCount(timeoutMs)) &&
    (end === undefined || typeof end === 'boolean') &&
    (started === undefined || typeof started === 'boolean')
  );
}

function isAssignedContainer(value: unknown): boolean {
  const one = fields(value);
  const check = fields(one['healthCheck']);
  return (
    isText(one['image']) &&
    isName(one['alias']) &&
    typeof one['needsSecrets'] === 'boolean' &&
    isTexts(one['environment']) &&
    isTexts(one['labels']) &&
    (one['command'] === undefined || isListOf(one['command'], isText)) &&
    isConfinement(one) &&
    (one['bounds'] === undefined || isBounds(fields(one['bounds']))) &&
    (one['healthCheck'] === undefined || isListOf(check['command'], isText)) &&
    isListOf(one['ports'], (port) => isCount(fields(port)['container'])) &&
    isListOf(one['mounts'], (mount) => isText(fields(mount)['kind']) && isText(fields(mount)['target']))
  );
}

function isBounds({ memoryBytes, pids, cpuWeight, logBytes }: Fields): boolean {
  return [memoryBytes, pids, cpuWeight, logBytes].every(isCount);
}

function isConfinement({ user, readOnlyRootFilesystem, capabilities }: Fields): boolean {
  const drop = fields(capabilities)['drop'];
  return (
    (user === undefined || isText(user)) &&
    (readOnlyRootFilesystem === undefined || typeof readOnlyRootFilesystem === 'boolean') &&
    (drop === undefined || isListOf(drop, isText))
  );
}

const ROLES: readonly unknown[] = ['primary', 'replica', 'gone'];
const CLASSES: readonly unknown[] = ['ephemeral', 'replicated', 'object'];
const TYPES: readonly unknown[] = ['volume', 'bind', 'tmpfs'];

function isAssignedVolume(value: unknown): value is AssignedVolume {
  const one = fields(value);
  return (
    isName(one['id']) &&
    ROLES.includes(one['role']) &&
    CLASSES.includes(one['class']) &&
    TYPES.includes(one['type']) &&
    isCount(one['epoch']) &&
    isCount(one['sizeBytes']) &&
    (one['hostPath'] === undefined || isText(one['hostPath'])) &&
    (one['leaseMs'] === undefined || isCount(one['leaseMs'])) &&
    (one['copiesTo'] === undefined || isListOf(one['copiesTo'], isName))
  );
}

function isNetworkSettings(value: unknown): value is NetworkSettings {
  const one = fields(value);
  return (
    isName(one['name']) &&
    one['driver'] === 'bridge' &&
    isTexts(one['labels']) &&
    typeof one['internal'] === 'boolean'
  );
}

const OPERATIONS: { readonly [K in StreamOperation['kind']]: (operation: Fields) => boolean } = {
  containers: () => true,
  'network-containers': (o) => isName(o['network']),
  logs: (o) => isText(o['instanceId']) && typeof o['follow'] === 'boolean',
  stats: (o) => isText(o['instanceId']),
  exec: (o) => isText(o['instanceId']) && isListOf(o['command'], isText) && isCount(o['timeoutMs']),
  'volume-measure': (o) => isName(o['volumeId']),
  'volume-receive': (o) =>
    isName(o['volumeId']) &&
    isCount(o['volumeEpoch']) &&
    isName(o['relayId']) &&
    isCopyHeader(fields(o['copy'])),
};

function isCopyHeader(copy: Fields): boolean {
  return (
    isName(copy['engine']) &&
    isCount(copy['sequence']) &&
    (copy['parent'] === undefined || (isCount(copy['parent']) && isCount(copy['parentEpoch']))) &&
    isText(copy['takenAt'])
  );
}

function isOperation(value: unknown): boolean {
  const operation = fields(value);
  const kind = operation['kind'] as StreamOperation['kind'];
  return Object.hasOwn(OPERATIONS, kind) && OPERATIONS[kind](operation);
}
