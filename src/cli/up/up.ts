import { resolve } from 'node:path';
import { readFileSync } from 'node:fs';
import { CONTAINER_LABELS } from '../../core/model/labels.ts';
import { readContexts, withContext, withoutContext, writeContexts } from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { Failure, usage } from '../failure.ts';
import { interruptible, type Progress, type Step } from '../progress.ts';
import type { Session } from '../session.ts';
import { stopLeftovers } from './child.ts';
import { type ControlPlane, leaveMachine, program, startControlPlane, startNode } from './control-plane.ts';
import type { EngineSocket } from './engine-socket.ts';
import { startRegistry } from './local-registry.ts';
import { bridgeName, removeTraces, startOwnEngine } from './own-engine.ts';
import {
  holdingsOf,
  isAlive,
  type Workspace,
  workspaceAt,
  prepareWorkspace,
  readState,
  writeState,
  removeWorkspace,
  startTimeOf,
} from './workspace.ts';
import { choosePort } from './ports.ts';
import { meetPrerequisites } from './prerequisites.ts';
import { BUSYBOX, need } from './programs.ts';
import { awaitSample, checkUrl, deploySample, SAMPLE_NAME } from './sample.ts';
import { Supervisor } from './supervisor.ts';
import { archiveOf, digestOf, push, sampleImage } from './sample-image.ts';
import { checkWayIn, chooseWayIn, SAMPLE_HOST, type WayIn, wayInUrl } from './way-in.ts';

export interface UpSettings {
  readonly dataDir: string;
  readonly quickstart: boolean;
  readonly listen: string;
  readonly port: number;
  /** First port to try for the sample, and for its registry; a registry that is there already by its address. */
  readonly samplePort: number | undefined;
  readonly registry: number | string | undefined;
  readonly labels: readonly string[];
  readonly engine: string | undefined;
  readonly ownEngine: boolean;
}

export const CONTEXT = 'local';
const REGISTRY_PORT = 5000;
const WEB_PORT = 8080;

export async function up(session: Session, settings: UpSettings): Promise<number> {
  const workspace = workspaceAt(resolve(settings.dataDir));
  const progress = interruptible(session.progress(), session.interrupted);
  prepareWorkspace(workspace);
  const wasKilled = await takeHold(workspace, progress);
  const running = new Supervisor();
  try {
    const started = await start(session, settings, workspace, running, progress, wasKilled);
    session.terminal.out(started);
    await running.watch(session.interrupted, progress);
    return EXIT.ok;
  } finally {
    await running.stop(progress);
    writeState(workspace, { owner: { pid: 0, startTime: '', name: '' } });
  }
}

/** One run per folder; what a killed one left behind is stopped first. */
async function takeHold(workspace: Workspace, progress: Progress): Promise<boolean> {
  const { owner } = readState(workspace);
  if (owner !== undefined && isAlive(owner)) {
    throw new Failure(`berth up runs already with ${workspace.folder} (process ${owner.pid})`, {
      advice: ['Stop it with Ctrl-C where it runs, or choose another --data-dir.'],
    });
  }
  writeState(workspace, {
    owner: { pid: process.pid, startTime: startTimeOf(process.pid) ?? '', name: 'up' },
  });
  const left = await stopLeftovers(workspace);
  if (left > 0) {
    removeTraces(workspace);
    progress.line(`Stopped ${left} programs that an earlier run left behind`);
  }
  return left > 0;
}

async function stepped<T>(
  progress: Progress,
  label: string,
  work: (step: Step) => Promise<readonly [T, string]>,
): Promise<T> {
  const step = progress.step(label);
  try {
    const [result, text] = await work(step);
    step.done(text);
    return result;
  } catch (error) {
    step.fail('');
    throw error;
  }
}

async function start(
  session: Session,
  settings: UpSettings,
  workspace: Workspace,
  running: Supervisor,
  progress: Progress,
  wasKilled: boolean,
): Promise<string> {
  const signal = session.interrupted;
  const began = performance.now();
  const { engine, isOwn } = await startEngine(session, settings, workspace, running, progress);
  const registry = settings.quickstart
    ? await prepareImage(workspace, engine, settings.registry, running, progress, signal)
    : undefined;
  const registryHost = typeof settings.registry === 'string' ? settings.registry : undefined;
  const plane = await stepped(progress, 'Control plane', async () => {
    const host = settings.listen;
    const port = await choosePort(readState(workspace).apiPort, settings.port, host);
    writeState(workspace, { apiPort: port });
    const started = await startControlPlane(workspace, { host, port }, registryHost, signal);
    return [started, started.publicUrl] as const;
  });
  running.add(plane.child, plane.again);
  // After the containers are gone: volumes that nobody has any more are unmounted, and nothing has to watch them.
  running.onStop('network and volumes', () => leaveMachine(workspace));
  // After the agent has stopped, so that nothing puts them back; before the engine does.
  running.onStop(
    'containers',
    async () => void (await engine.removeLabelled(`${CONTAINER_LABELS.tenant}=${plane.tenantId}`)),
  );
  const contextText = await stepped(progress, 'Remember it for this program', async () =>
    rememberContext(session, workspace, plane),
  );
  // Before the agent starts, which starts the sample of an earlier run, which then holds the port. One that outlived a killed
  // run holds it already.
  const { samplePort } = readState(workspace);
  const port =
    wasKilled && samplePort !== undefined
      ? samplePort
      : await choosePort(settings.samplePort ?? samplePort, settings.samplePort ?? WEB_PORT, '0.0.0.0');
  writeState(workspace, { samplePort: port });
  const wayIn = settings.quickstart
    ? await chooseWayIn(
        workspace,
        { mesh: process.env['BERTH_AGENT_MESH'], mayInstall: isOwn, wasKilled },
        progress,
        signal,
      )
    : undefined;
  const node = await stepped(progress, 'This machine as a node', async () => {
    const node = { engineSocket: engine.path, wayIn, labels: settings.labels };
    const started = await startNode(workspace, plane, node, signal);
    return [started, started.text] as const;
  });
  running.add(node.child, node.again);
  const urls =
    registry === undefined
      ? []
      : await runSample(session, plane, engine, { image: registry, port, wayIn }, progress);
  const join = plane.certificate === undefined ? undefined : await joinLine(plane);
  return summary(workspace, plane, { urls, join, flags: contextText, tookMs: performance.now() - began });
}

async function startEngine(
  session: Session,
  settings: UpSettings,
  workspace: Workspace,
  running: Supervisor,
  progress: Progress,
): Promise<{ readonly engine: EngineSocket; readonly isOwn: boolean }> {
  const signal = session.interrupted;
  const wish = {
    sample: settings.quickstart,
    hasRegistry: typeof settings.registry === 'string',
    engine: settings.engine,
    ownEngine: settings.ownEngine,
    command: `${program()} up${settings.quickstart ? ' --quickstart' : ''}`,
  };
  const found = await meetPrerequisites(workspace, wish, session.environment, progress, signal);
  const engine = await stepped(progress, 'Container engine', async () => {
    if (found !== undefined)
      return [found, `${await found.name()} at ${found.path}, which runs already`] as const;
    const { socket, child } = await startOwnEngine(workspace, signal);
    running.onStop('network of the engine', () => removeTraces(workspace));
    running.add(child);
    return [socket, `${await socket.name()} of its own, network ${bridgeName(workspace)}`] as const;
  });
  return { engine, isOwn: found === undefined };
}

async function prepareImage(
  workspace: Workspace,
  engine: EngineSocket,
  registry: UpSettings['registry'],
  running: Supervisor,
  progress: Progress,
  signal: AbortSignal,
): Promise<string> {
  const host = await stepped(progress, 'Local registry', async () => {
    if (typeof registry === 'string') return [registry, `${registry}, which runs already`] as const;
    const port = await choosePort(registry ?? readState(workspace).registryPort, registry ?? REGISTRY_PORT);
    writeState(workspace, { registryPort: port });
    const started = await startRegistry(workspace, port, signal);
    running.add(started.child, started.again);
    return [started.host, started.host] as const;
  });
  return stepped(progress, 'Sample image', async () => {
    const image = sampleImage(need(BUSYBOX, workspace));
    const tag = `1.0-${digestOf(image.manifest).slice(7, 15)}`;
    const outcome = await push(host, 'berth/hello', tag, image);
    const reference = `${host}/berth/hello:${tag}`;
    // Podman, unlike Docker, takes no image from a registry without TLS unless the machine's settings say so: it is handed over.
    if ((await engine.name()).startsWith('Podman')) await engine.load(archiveOf(image, reference));
    return [reference, `${reference}, ${outcome}`] as const;
  });
}

async function runSample(
  session: Session,
  plane: ControlPlane,
  engine: EngineSocket,
  {
    image,
    port,
    wayIn,
  }: { readonly image: string; readonly port: number; readonly wayIn: WayIn | undefined },
  progress: Progress,
): Promise<readonly string[]> {
  const specHash = await stepped(progress, `Deploy ${SAMPLE_NAME}`, async () => {
    const place = { port, host: wayIn && SAMPLE_HOST };
    return [await deploySample(session, plane, image, place), `port ${port}`] as const;
  });
  await stepped(progress, `${SAMPLE_NAME} healthy`, async (step) => {
    return [undefined, await awaitSample(session, plane, engine, specHash, step)] as const;
  });
  const url = `http://127.0.0.1:${port}/`;
  await stepped(progress, 'Ask it for its page', async () => {
    await checkUrl(session, url);
    return [undefined, `${url} answers`] as const;
  });
  if (wayIn === undefined) return [url];
  const problem = await checkWayIn(wayIn, session.interrupted);
  if (problem === undefined) return [url, wayInUrl(wayIn)];
  progress.line(`${wayInUrl(wayIn)} does not show it (${problem}): ${program()} ingress says more`);
  return [url];
}

/** The user's own contexts come first: another current one is left as it is, and the commands below name this one. */
function rememberContext(
  session: Session,
  workspace: Workspace,
  plane: ControlPlane,
): readonly [string, string] {
  const file = readContexts(session.environment);
  const token = readFileSync(workspace.adminToken, 'utf8').trim();
  const makeCurrent = file.current === undefined || file.current === CONTEXT;
  const path = writeContexts(
    session.environment,
    withContext(
      file,
      CONTEXT,
      { server: plane.url, token, ...(plane.certificate && { caFile: plane.certificate.certFile }) },
      makeCurrent,
    ),
  );
  return [
    makeCurrent ? '' : ` --context ${CONTEXT}`,
    makeCurrent
      ? `context ${CONTEXT} in ${path}`
      : `context ${CONTEXT} in ${path}; ${file.current ?? ''} stays the current one`,
  ];
}

/** For a second machine: it carries the digest of the certificate, so that nothing else has to be trusted there. */
async function joinLine({ client }: ControlPlane): Promise<string> {
  const made = await client.record('POST /api/v1/join-tokens', { body: {} });
  return `Add another machine: paste this there before ${textOf(made.expiresAt)}; it works once (${program()} node token makes another)\n  ${textOf(made.command)}\n\n`;
}

function summary(
  workspace: Workspace,
  plane: ControlPlane,
  {
    urls: [url, byHost],
    join = '',
    flags,
    tookMs,
  }: {
    readonly urls: readonly string[];
    readonly join: string | undefined;
    readonly flags: string;
    readonly tookMs: number;
  },
): string {
  const rows: readonly (readonly [string, string] | undefined)[] = [
    url === undefined ? undefined : ['Sample', url],
    byHost === undefined ? undefined : ['By its host', byHost],
    ['Dashboard', `${plane.publicUrl}/`],
    ['API and docs', `${plane.publicUrl}/docs`],
    plane.certificate === undefined
      ? undefined
      : ['Certificate', `${plane.certificate.certFile}, ${plane.certificate.digest}`],
    ['Token', workspace.adminToken],
    ['Data, logs', `${workspace.folder}, ${workspace.logs}`],
  ];
  const next =
    url === undefined
      ? [`${program()} get nodes${flags}`, `${program()} run IMAGE${flags}`, `${program()} doctor${flags}`]
      : [
          `${program()} get deployments${flags}`,
          `${program()} logs ${SAMPLE_NAME} -f${flags}`,
          `${program()} describe deployment ${SAMPLE_NAME}${flags}`,
        ];
  return `
Ready after ${(tookMs / 1000).toFixed(1)} s.
${rows.flatMap((row) => (row === undefined ? [] : [`  ${row[0].padEnd(14)} ${row[1]}`])).join('\n')}

Next, in another terminal:
${next.map((line) => `  ${line}`).join('\n')}

${join}Ctrl-C stops everything; what was deployed is kept for the next start. --clean removes it.
`;
}

/** Removes the folder, what an earlier run left running, and the remembered context. */
export async function clean(session: Session, dataDir: string): Promise<number> {
  const workspace = workspaceAt(resolve(dataDir));
  const holds = holdingsOf(workspace);
  if (holds === 'none') {
    session.terminal.out(`there is nothing at ${workspace.folder}\n`);
    return EXIT.ok;
  }
  if (holds === 'foreign') {
    throw usage(`${workspace.folder} was not made by berth up: it has no up.json; nothing was removed`, [
      '--data-dir names the folder of the run that is to be removed',
    ]);
  }
  const { owner, isShared } = readState(workspace);
  if (isShared === true) {
    throw usage(`${workspace.folder} held other files before berth up used it; nothing was removed`, [
      'Remove by hand what is not needed there.',
    ]);
  }
  if (owner !== undefined && isAlive(owner)) {
    throw new Failure(`berth up still runs with ${workspace.folder} (process ${owner.pid})`, {
      advice: ['Stop it with Ctrl-C where it runs, then clean.'],
    });
  }
  const { apiPort, subnet, children } = readState(workspace);
  if (children !== undefined) await stopLeftovers(workspace);
  await leaveMachine(workspace);
  if (subnet !== undefined) removeTraces(workspace);
  const file = readContexts(session.environment);
  const known = file.contexts[CONTEXT]?.server;
  const ours = apiPort !== undefined && known?.endsWith(`:${apiPort}`) === true;
  if (ours) writeContexts(session.environment, withoutContext(file, CONTEXT));
  removeWorkspace(workspace);
  session.terminal.out(`removed ${workspace.folder}${ours ? ` and context ${CONTEXT}` : ''}\n`);
  return EXIT.ok;
}
