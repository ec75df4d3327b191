import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nodeNameOf } from '../../core/model/host-name.ts';
import { Client, named } from '../client.ts';
import { textOf } from '../fields.ts';
import { fetchOf } from '../transport.ts';
import { type OwnCertificate, ownCertificate } from './certificate.ts';
import { awaitChild, type Child, startChild } from './child.ts';
import type { WayIn } from './way-in.ts';
import { type Workspace, readState } from './workspace.ts';

/** For slow and busy machines: a program that ends is noticed at once. */
const START_MS = 120_000;
const READY_MS = 2_000;
/** Beside `src` in a checkout and beside `dist` in an installation. */
export const BERTH = fileURLToPath(new URL('../../../bin/berth', import.meta.url));

/** How this program is called from here, for lines to paste. */
export function program(): string {
  if (isOnPath(process.env['PATH'] ?? '')) return 'berth';
  const path = relative(process.cwd(), BERTH);
  return path.startsWith('..') ? BERTH : path;
}

/** The first `berth` of the path may be another installation. */
function isOnPath(path: string): boolean {
  const first = path
    .split(':')
    .map((folder) => join(folder, 'berth'))
    .find((file) => existsSync(file));
  return first !== undefined && realpathSync(first) === realpathSync(BERTH);
}

export interface ControlPlane {
  /** From this machine. */
  readonly url: string;
  /** From others, where it is reached from them. */
  readonly publicUrl: string;
  /** Of its own, where it is reached from other machines. */
  readonly certificate: OwnCertificate | undefined;
  readonly client: Client;
  readonly child: Child;
  readonly again: () => Child;
  readonly tenantId: string;
}

/** A host name is not always a node name. */
export function localNodeName(): string {
  const name = nodeNameOf(hostname());
  return name === '' ? 'local' : name;
}

/** Settings in the caller's environment and folder are another control plane's. */
function withoutSettings(environment: NodeJS.ProcessEnv): Record<string, string | undefined> {
  const own = Object.keys(environment).filter((name) => name.startsWith('BERTH_'));
  return Object.fromEntries(own.map((name) => [name, undefined]));
}

export interface Listener {
  /** An address of this machine; `0.0.0.0` and `::` are all of them. */
  readonly host: string;
  readonly port: number;
}

function authority(host: string, port: number): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Where a listener is reached from here and from other machines, and the names that its certificate is for. */
export function reachedAt(host: string, port: number) {
  if (/^(127\.|::1$)/.test(host)) {
    const url = `http://${authority(host, port)}`;
    return { isLocal: true, url, publicUrl: url, names: [] } as const;
  }
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
    .toSorted((a, b) => a.family.localeCompare(b.family))
    .map(({ address }) => address);
  const isAll = host === '0.0.0.0' || host === '::';
  const given = isAll ? outside : [host];
  return {
    isLocal: false,
    url: `https://${authority(isAll ? '127.0.0.1' : host, port)}`,
    publicUrl: `https://${authority(given[0] ?? hostname(), port)}`,
    names: ['localhost', hostname(), '127.0.0.1', '::1', ...given],
  } as const;
}

export async function startControlPlane(
  workspace: Workspace,
  { host, port }: Listener,
  registry: string | undefined,
  signal: AbortSignal,
): Promise<ControlPlane> {
  const reached = reachedAt(host, port);
  const { url, publicUrl } = reached;
  const certificate = reached.isLocal ? undefined : ownCertificate(workspace, reached.names);
  const { registryPort } = readState(workspace);
  const registries = ['127.0.0.1', 'localhost'].flatMap((name) => [
    name,
    ...(registryPort === undefined ? [] : [`${name}:${registryPort}`]),
  ]);
  if (registry !== undefined) registries.push(registry);
  const again = (): Child =>
    startChild(workspace, {
      name: 'server',
      command: BERTH,
      args: [
        'server',
        '--data-dir',
        workspace.folder,
        '--listen',
        authority(host, port),
        ...(certificate === undefined
          ? []
          : ['--tls-cert', certificate.certFile, '--tls-key', certificate.keyFile, '--base-url', publicUrl]),
        '--node-name',
        localNodeName(),
      ],
      environment: {
        ...withoutSettings(process.env),
        BERTH_REGISTRIES_ALLOW_PRIVATE: registries.join(','),
      },
    });
  const child = again();
  const target = { server: url, tenant: undefined, caFile: certificate?.certFile, source: 'berth up' };
  const ask = fetchOf({ ...target, token: '' });
  const ready = async (): Promise<boolean> => {
    const init = { method: 'GET', headers: {}, signal: AbortSignal.timeout(READY_MS) };
    const answer = await ask(`${url}/readyz`, init).catch(() => undefined);
    return answer?.status === 200;
  };
  try {
    await awaitChild(child, ready, { deadlineMs: START_MS, what: 'the control plane', signal });
    const token = readFileSync(workspace.adminToken, 'utf8').trim();
    const client = new Client({ ...target, token }, signal);
    const tenant = await client.record('GET /api/v1/tenants/{tenant}', { params: { tenant: 'platform' } });
    return { url, publicUrl, certificate, client, child, again, tenantId: textOf(tenant.id) };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

export interface NodeSettings {
  readonly engineSocket: string;
  readonly wayIn: WayIn | undefined;
  readonly labels: readonly string[];
}

/** Enrols this machine once; later starts find its identity in the data folder. */
export async function startNode(
  workspace: Workspace,
  { url, certificate, client }: ControlPlane,
  { engineSocket, wayIn, labels }: NodeSettings,
  signal: AbortSignal,
): Promise<{ readonly child: Child; readonly again: () => Child; readonly text: string }> {
  const name = localNodeName();
  const read = () => client.recordUnless(['node_not_found'], 'GET /api/v1/nodes/{name}', named(name));
  const known = await read();
  const join =
    known === undefined
      ? await client.record('POST /api/v1/join-tokens', { body: { nodeName: name } })
      : undefined;
  const started = (joinToken?: string): Child =>
    startChild(workspace, {
      name: 'agent',
      command: BERTH,
      args: [
        'agent',
        '--server',
        url,
        '--name',
        name,
        '--data-dir',
        agentFolder(workspace),
        '--engine',
        engineSocket,
        ...(certificate === undefined ? [] : ['--ca-digest', certificate.digest]),
        ...labels.flatMap((label) => ['--label', label]),
        // Said each time: an agent remembers it.
        '--ingress',
        wayIn === undefined ? 'off' : `${wayIn.http},${wayIn.https}`,
        ...(joinToken === undefined ? [] : ['--join-file', '-']),
      ],
      // Where the port of the mesh is another's, or nothing of it is wanted.
      environment: { ...withoutSettings(process.env), BERTH_AGENT_MESH: process.env['BERTH_AGENT_MESH'] },
      ...(joinToken === undefined ? {} : { input: joinToken }),
    });
  const child = started(join && textOf(join.token));
  const seenBefore = textOf(known?.lastSeenAt);
  let text = '';
  const ready = async (): Promise<boolean> => {
    const node = await read();
    if (node === undefined || textOf(node.status) !== 'ready' || textOf(node.lastSeenAt) === seenBefore)
      return false;
    text = `${name}, ${textOf(node.engine?.kind)} ${textOf(node.engine?.version)}, ${textOf(node.capacity?.cpu)} CPU`;
    return true;
  };
  try {
    await awaitChild(child, ready, { deadlineMs: START_MS, what: "this machine's agent", signal });
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { child, again: () => started(), text };
}

function agentFolder({ folder }: Workspace): string {
  return `${folder}/agent`;
}

/** What the agent has set up on the machine and what outlives it. After the agent has stopped. */
export async function leaveMachine(workspace: Workspace): Promise<void> {
  const dataDir = agentFolder(workspace);
  if (!existsSync(join(dataDir, 'identity.json'))) return;
  await promisify(execFile)(BERTH, ['agent', '--leave', '--data-dir', dataDir], {
    env: { ...process.env, ...withoutSettings(process.env) },
    timeout: START_MS,
  });
}
