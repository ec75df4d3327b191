import { createSocket } from 'node:dgram';
import { existsSync, readFileSync } from 'node:fs';
import { hostname, release } from 'node:os';
import { delimiter, join } from 'node:path';
import { meshStanding, waysText } from '../../core/contract/mesh-standing.ts';
import { cidrText } from '../../core/model/ipv4.ts';
import { MESH_PORT } from '../../core/model/mesh.ts';
import { Refused } from '../failure.ts';
import { textOf } from '../fields.ts';
import { isJoined, meshPaths } from '../mesh.ts';
import type { OptionValues } from '../option-values.ts';
import type { Node } from '../records.ts';
import type { Session } from '../session.ts';
import { bad, type Finding, good, unknown } from './finding.ts';
import { judgePorts, judgePrograms, judgeRoutes, MESH_PROGRAMS, type MeshMachine } from './mesh-machine.ts';
import { systemOf } from '../up/system.ts';

const AGENT_DATA = '/var/lib/berth-agent';
const MAX_ADVICE = 5;
const HEX_DIGITS = 8;

/** The nodes as one network, as the control plane knows it. */
export async function networkFinding(session: Session, options: OptionValues): Promise<Finding> {
  try {
    return judgeNetwork(await session.client(options).list('GET /api/v1/nodes'));
  } catch (error) {
    if (error instanceof Refused) return unknown(`not checked: ${error.rejection.code}`);
    throw error;
  }
}

export function judgeNetwork(nodes: readonly Node[]): Finding {
  if (nodes.length === 0) return unknown('no node yet');
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const paths = nodes.flatMap((node) => meshPaths(node, byName)).map(({ way }) => way);
  const standings = nodes.map((node) => ({ name: textOf(node.name), ...meshStanding(node) }));
  const wrong = standings.filter(
    ({ state, why }) => state === 'apart' || (state === 'joined' && why !== undefined),
  );
  const ways = waysText(paths);
  const text = `${nodes.filter(isJoined).length} of ${nodes.length} nodes take part${ways === '' ? '' : `; paths: ${ways}`}`;
  const advice = [
    ...wrong.map(({ name, why = '', fix = '' }) => `${name}: ${why}; ${fix}`),
    ...new Set(paths.flatMap(({ fix }) => fix ?? [])),
  ].slice(0, MAX_ADVICE);
  if (wrong.length > 0 || paths.some(({ state }) => state === 'none'))
    return bad(text, ...advice, 'berth network show tells all of it.');
  // The relay works, and is slower: worth knowing, no failure.
  if (paths.some(({ state }) => state === 'relayed')) return unknown(text, ...advice);
  return good(text);
}

export const programs = async (session: Session, options: OptionValues): Promise<Finding> =>
  judgePrograms(await machineOf(session, options));
export const ports = async (session: Session, options: OptionValues): Promise<Finding> =>
  judgePorts(await machineOf(session, options));
export const routes = async (session: Session, options: OptionValues): Promise<Finding> =>
  judgeRoutes(await machineOf(session, options));

/** Looked at once for all checks. */
const LOOKED_AT = new WeakMap<Session, Promise<MeshMachine>>();

function machineOf(session: Session, options: OptionValues): Promise<MeshMachine> {
  const looking = LOOKED_AT.get(session) ?? lookAtMachine(session, options);
  LOOKED_AT.set(session, looking);
  return looking;
}

async function lookAtMachine(session: Session, options: OptionValues): Promise<MeshMachine> {
  const nodes = await session
    .client(options)
    .attempt('GET /api/v1/nodes/{name}', { params: { name: hostname() } })
    .catch(() => undefined);
  const here = nodes?.ok === true ? nodes.body : undefined;
  const folders = [...(session.environment['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const found = ['wireguard-go', ...Object.keys(MESH_PROGRAMS)].filter((program) =>
    folders.some((folder) => existsSync(join(folder, program))),
  );
  const taken: number[] = [];
  for (const port of [MESH_PORT, MESH_PORT + 1]) if (!(await isFree(port))) taken.push(port);
  return {
    isNode: here !== undefined || existsSync(AGENT_DATA),
    isJoined: here !== undefined && isJoined(here),
    programs: new Set(found),
    system: systemOf(),
    kernelWireGuard: hasKernelWireGuard(),
    tunDevice: existsSync('/dev/net/tun'),
    portsTaken: taken,
    forwards: read('/proc/sys/net/ipv4/ip_forward').trim() !== '0',
    routes: routesOf(read('/proc/net/route')),
  };
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => resolve(false));
    socket.bind(port, () => socket.close(() => resolve(true)));
  });
}

/** Loaded, built in, or a module that the kernel loads when it is asked for. */
function hasKernelWireGuard(): boolean {
  if (existsSync('/sys/module/wireguard')) return true;
  const folder = `/lib/modules/${release()}`;
  return ['modules.builtin', 'modules.dep'].some((file) =>
    read(join(folder, file)).includes('/wireguard.ko'),
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The kernel writes addresses as hexadecimal numbers of its own byte order, which is little-endian wherever Berth runs. */
export function routesOf(table: string): readonly string[] {
  return table.split('\n').flatMap((line) => {
    const [device = '', network = '', , , , , , mask = ''] = line.split('\t');
    if (device.startsWith('berth-') || network.length !== HEX_DIGITS || mask.length !== HEX_DIGITS) return [];
    const bits = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length;
    const base = Buffer.from(network, 'hex').readUInt32LE();
    // The default route leads everywhere, and more exact ones go before it.
    return bits === 0 ? [] : [cidrText({ base, bits })];
  });
}
