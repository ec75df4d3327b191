import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nodeNameOf } from '../../core/model/host-name.ts';
import { Client, named } from '../client.ts';
import { textOf } from '../fields.ts';
import { awaitChild, type Child, startChild } from './child.ts';
import type { WayIn } from './way-in.ts';
import { type Workspace, readState } from './workspace.ts';

const START_MS = 30_000;
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
  readonly url: string;
  readonly client: Client;
  readonly child: Child;
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

export async function startControlPlane(
  workspace: Workspace,
  port: number,
  signal: AbortSignal,
): Promise<ControlPlane> {
  const url = `http://127.0.0.1:${port}`;
  const { registryPort } = readState(workspace);
  const registries = ['127.0.0.1', 'localhost'].flatMap((host) => [
    host,
    ...(registryPort === undefined ? [] : [`${host}:${registryPort}`]),
  ]);
  const child = startChild(workspace, {
    name: 'server',
    command: BERTH,
    args: [
      'server',
      '--data-dir',
      workspace.folder,
      '--listen',
      `127.0.0.1:${port}`,
      '--node-name',
      localNodeName(),
    ],
    environment: {
      ...withoutSettings(process.env),
      BERTH_REGISTRIES_ALLOW_PRIVATE: registries.join(','),
    },
  });
  const ready = (): Promise<boolean> =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
      (answer) => answer.ok,
      () => false,
    );
  try {
    await awaitChild(child, ready, { deadlineMs: START_MS, what: 'the control plane', signal });
    const token = readFileSync(workspace.adminToken, 'utf8').trim();
    const client = new Client(
      { server: url, token, tenant: undefined, caFile: undefined, source: 'berth up' },
      signal,
    );
    const tenant = await client.record('GET /api/v1/tenants/{tenant}', { params: { tenant: 'platform' } });
    return { url, client, child, tenantId: textOf(tenant.id) };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/** Enrols this machine once; later starts find its identity in the data folder. */
export async function startNode(
  workspace: Workspace,
  { url, client }: ControlPlane,
  engineSocket: string,
  wayIn: WayIn | undefined,
  signal: AbortSignal,
): Promise<{ readonly child: Child; readonly text: string }> {
  const name = localNodeName();
  const read = () => client.recordUnless(['node_not_found'], 'GET /api/v1/nodes/{name}', named(name));
  const known = await read();
  const join =
    known === undefined
      ? await client.record('POST /api/v1/join-tokens', { body: { nodeName: name } })
      : undefined;
  const child = startChild(workspace, {
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
      // Said each time: an agent remembers it.
      '--ingress',
      wayIn === undefined ? 'off' : `${wayIn.http},${wayIn.https}`,
      ...(join === undefined ? [] : ['--join-file', '-']),
    ],
    // Where the port of the mesh is another's, or nothing of it is wanted.
    environment: { ...withoutSettings(process.env), BERTH_AGENT_MESH: process.env['BERTH_AGENT_MESH'] },
    ...(join === undefined ? {} : { input: textOf(join.token) }),
  });
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
  return { child, text };
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
