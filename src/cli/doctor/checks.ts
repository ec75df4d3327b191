import { existsSync, statfsSync } from 'node:fs';
import { hostname } from 'node:os';
import { messageOf } from '../../core/model/values.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import type { OptionValues } from '../option-values.ts';
import { Failure, Refused } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Session } from '../session.ts';
import { installText } from '../up/advice.ts';
import { systemOf } from '../up/system.ts';
import { bad, type Finding, good, unknown } from './finding.ts';
import { networkFinding, ports, programs, routes } from './mesh.ts';

const { request } = process.getBuiltinModule('node:http');

export interface Check {
  readonly name: string;
  readonly needsServer: boolean;
  readonly check: (session: Session, options: OptionValues) => Promise<Finding>;
}

const MAX_SKEW_MS = 5000;
const LOW_DISK_BYTES = 2 * 2 ** 30;
const PROBE_MS = 3000;

async function controlPlane(session: Session, options: OptionValues): Promise<Finding> {
  try {
    const client = session.client(options);
    const health = (await client.health()).body;
    return good(`${client.target.server}, version ${textOf(health.version)} (${client.target.source})`);
  } catch (error) {
    if (error instanceof Failure) return bad(error.message, ...error.advice);
    throw error;
  }
}

async function token(session: Session, options: OptionValues): Promise<Finding> {
  const client = session.client(options);
  if (client.target.token === undefined)
    return bad('no token', 'Set BERTH_CLI_TOKEN, or berth login --server URL');
  const answer = await client.attempt('GET /api/v1/deployments', { query: { limit: 1 } });
  if (answer.ok)
    return good(
      client.target.tenant === undefined ? 'accepted' : `accepted, for tenant ${client.target.tenant}`,
    );
  const advice =
    answer.rejection.code === 'unauthenticated'
      ? 'It may have expired or been revoked: berth login --server URL with a new one'
      : `berth explain ${answer.rejection.code}`;
  return bad(`${answer.rejection.code}: ${answer.rejection.why}`, advice);
}

async function store(session: Session, options: OptionValues): Promise<Finding> {
  const health = (await session.client(options).health()).body;
  const kind = textOf(health.store?.kind);
  const problem = textOf(health.store?.problem);
  const records = health.controllers?.janitor?.audit?.records;
  const bytes = health.controllers?.janitor?.audit?.bytes;
  const audit =
    typeof records === 'number' && typeof bytes === 'number'
      ? `, ${records} lines of audit (${formatBytes(bytes)})`
      : '';
  if (health.store?.connected === true && problem === '') return good(`${kind}, connected${audit}`);
  return bad(
    `${kind}: ${problem === '' ? 'not connected' : problem}`,
    kind === 'etcd'
      ? 'Are the members of etcd up, and reachable from the control plane? Nothing can be changed until they are.'
      : 'Is the disk of the control plane full, or its data folder gone?',
  );
}

async function secrets(session: Session, options: OptionValues): Promise<Finding> {
  const health = (await session.client(options).health()).body;
  const kind = textOf(health.secrets?.kind);
  if (health.secrets?.sealed === true)
    return bad(
      `${kind}: sealed`,
      'The root key is missing: put it back at <data-dir>/keys/root.key (or where keys.rootKeyFile, keys.rootKeyCommand or the systemd credential has it), or unseal the vault.',
    );
  if (health.secrets?.connected === true) return good(`${kind}, open`);
  return bad(
    `${kind}: not connected`,
    'Instances that need secrets cannot start until it is back.',
    textOf(health.secrets?.problem),
  );
}

/** The Date header has whole seconds, and the answer was under way. */
async function clock(session: Session, options: OptionValues): Promise<Finding> {
  const began = performance.now();
  const { headers } = await session.client(options).health();
  const roundTripMs = performance.now() - began;
  const date = new Date(headers.get('date') ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return unknown('the control plane did not say what time it is');
  const skew = Math.abs(session.now() - roundTripMs / 2 - (date.getTime() + 500));
  if (skew <= MAX_SKEW_MS) return good('agree within a few seconds');
  return bad(
    `differ by ${Math.round(skew / 1000)} s`,
    'Tokens expire too early or too late, and times in lists are wrong. Let both machines keep time (systemd-timesyncd, chrony).',
  );
}

async function nodes(session: Session, options: OptionValues): Promise<Finding> {
  try {
    const found = await session.client(options).list('GET /api/v1/nodes');
    if (found.length === 0)
      return bad(
        'none is enrolled for this tenant',
        'berth node token prints the line that enrols a machine',
      );
    const away = found
      .filter((node) => textOf(node.status) !== 'ready')
      .map(({ name, reason }) =>
        reason === undefined ? textOf(name) : `${textOf(name)} (${textOf(reason)})`,
      );
    const trouble = found.find((node) => (node.problems ?? []).length > 0);
    if (away.length === 0 && trouble !== undefined)
      return bad(
        `${found.length} ready, but ${textOf(trouble.name)}: ${(trouble.problems ?? []).join('; ')}`,
        'berth describe node tells all of it; the guide on nodes has what its agent needs.',
      );
    if (away.length === 0) return good(`${found.length} ready`);
    return bad(
      `${away.length} of ${found.length} not ready: ${away.slice(0, 5).join(', ')}`,
      'Is berth agent running there, can it reach the control plane, and does its engine create containers?',
    );
  } catch (error) {
    if (error instanceof Refused) return unknown(`not checked: ${error.rejection.code}`);
    throw error;
  }
}

/** This machine's engine matters only if this machine is a node. */
async function engine(session: Session, options: OptionValues): Promise<Finding> {
  const host = session.environment['DOCKER_HOST'] ?? '';
  if (/^(?:tcp|ssh|https?):/.test(host))
    return unknown(`DOCKER_HOST is ${host}; an agent uses the engine of its own machine, through a socket`);
  const named = host.replace(/^unix:\/\//, '');
  const runtime = session.environment['XDG_RUNTIME_DIR'];
  const sockets =
    named !== ''
      ? [named]
      : [
          '/var/run/docker.sock',
          '/run/podman/podman.sock',
          ...(runtime === undefined ? [] : [`${runtime}/podman/podman.sock`]),
        ];
  if (named !== '' && !existsSync(named))
    return bad(
      `DOCKER_HOST names ${named}, and there is no such socket`,
      'Start that engine, or unset DOCKER_HOST to use the one in the usual place.',
    );
  const present = sockets.filter((path) => existsSync(path));
  for (const socketPath of present) {
    const answer = await ping(socketPath).catch((error: unknown) => messageOf(error));
    if (answer === 'OK') return good(`answers at ${socketPath}`);
    return bad(
      `${socketPath}: ${answer}`,
      'Is the engine running, and may you use its socket (group docker)?',
    );
  }
  const own = await nodeHere(session, options);
  if (own !== undefined) return good(own);
  return unknown(
    `none in the usual places; that matters only if it is to be a node (${installText(['docker.io'], systemOf())})`,
  );
}

/** `berth up` may have started an engine whose socket is in its data folder: the agent here says whether it works. */
async function nodeHere(session: Session, options: OptionValues): Promise<string | undefined> {
  try {
    const found = await session.client(options).list('GET /api/v1/nodes');
    const here = found.find((node) => textOf(node.name) === hostname() && textOf(node.status) === 'ready');
    if (here === undefined) return undefined;
    return `${textOf(here.engine?.kind)} ${textOf(here.engine?.version)}, used by the agent of ${hostname()}`;
  } catch {
    return undefined;
  }
}

function ping(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: '/_ping', timeout: PROBE_MS }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve(Buffer.concat(chunks).toString('utf8').trim()));
    });
    sent.once('timeout', () => sent.destroy(new Error('no answer within 3 s')));
    sent.once('error', reject);
    sent.end();
  });
}

async function disk(): Promise<Finding> {
  const places = ['/var/lib', process.cwd()].filter((path) => existsSync(path));
  const free = places.map((path) => {
    const { bavail, bsize } = statfsSync(path);
    return { path, bytes: bavail * bsize };
  });
  const low = free.filter(({ bytes }) => bytes < LOW_DISK_BYTES);
  const text = free.map(({ path, bytes }) => `${formatBytes(bytes)} free at ${path}`).join(', ');
  return low.length === 0
    ? good(text)
    : bad(text, 'Images and the store need room: remove what is not used (docker system prune).');
}

async function registry(session: Session, options: OptionValues): Promise<Finding> {
  const client = session.client(options);
  const answer = await client.attempt('GET /api/v1/deployments', { query: { limit: 1 } });
  if (!answer.ok) return unknown(`not checked: ${answer.rejection.code}`);
  const deployments = await client.list('GET /api/v1/deployments');
  const local = [
    ...new Set(
      deployments.flatMap((one) => /^((?:127\.0\.0\.1|localhost):\d+)\//.exec(textOf(one.image))?.[1] ?? []),
    ),
  ];
  if (local.length === 0) return unknown('no deployment uses a registry on this machine');
  for (const host of local) {
    const status = await fetch(`http://${host}/v2/`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 200 && status !== 401)
      return bad(
        `${host} does not answer`,
        'Images there cannot be pulled. berth up starts the registry of the quickstart.',
      );
  }
  return good(`${local.join(', ')} answers`);
}

/** In this order; the first says whether the others that need the control plane can be asked. */
export const CHECKS: readonly Check[] = [
  { name: 'control plane', needsServer: false, check: controlPlane },
  { name: 'token', needsServer: true, check: token },
  { name: 'store', needsServer: true, check: store },
  { name: 'secrets store', needsServer: true, check: secrets },
  { name: 'clocks', needsServer: true, check: clock },
  { name: 'nodes', needsServer: true, check: nodes },
  { name: 'network', needsServer: true, check: networkFinding },
  { name: 'local registry', needsServer: true, check: registry },
  { name: 'engine', needsServer: false, check: engine },
  { name: 'mesh programs', needsServer: false, check: programs },
  { name: 'mesh ports', needsServer: false, check: ports },
  { name: 'mesh routes', needsServer: false, check: routes },
  { name: 'disk space', needsServer: false, check: disk },
];
