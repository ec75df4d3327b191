import { resolve } from 'node:path';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../core/model/values.ts';
import { CONTAINER_LABELS } from '../../core/model/labels.ts';
import { readContexts, withContext, withoutContext, writeContexts } from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import type { Progress, Step } from '../progress.ts';
import type { Session } from '../session.ts';
import type { Child } from './child.ts';
import { stopLeftovers } from './child.ts';
import { type ControlPlane, leaveMachine, program, startControlPlane, startNode } from './control-plane.ts';
import type { EngineSocket } from './engine-socket.ts';
import { startRegistry } from './local-registry.ts';
import { bridgeName, removeTraces, startOwnEngine } from './own-engine.ts';
import {
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
import { archiveOf, digestOf, push, sampleImage } from './sample-image.ts';
import { checkWayIn, chooseWayIn, SAMPLE_HOST, type WayIn, wayInUrl } from './way-in.ts';

export interface UpSettings {
  readonly dataDir: string;
  readonly quickstart: boolean;
  readonly port: number;
  readonly engine: string | undefined;
  readonly ownEngine: boolean;
}

export const CONTEXT = 'local';
const REGISTRY_PORT = 5000;
const WEB_PORT = 8080;
const WATCH_MS = 500;

/** What has to be stopped, last started first. */
class Running {
  readonly children: Child[] = [];
  readonly #endings: { readonly label: string; readonly end: () => Promise<void> | void }[] = [];

  add(child: Child): void {
    this.children.push(child);
    this.#endings.push({ label: child.name, end: () => child.stop() });
  }

  onStop(label: string, end: () => Promise<void> | void): void {
    this.#endings.push({ label, end });
  }

  async stop(progress: Progress): Promise<void> {
    if (this.#endings.length === 0) return;
    const step = progress.step('Stop');
    const problems: string[] = [];
    for (const { label, end } of this.#endings.toReversed()) {
      step.note(label);
      try {
        await end();
      } catch (error) {
        problems.push(`${label}: ${messageOf(error)}`);
      }
    }
    if (problems.length === 0) step.done('everything that was started');
    else step.fail(problems.join('; '));
  }
}

export async function up(session: Session, settings: UpSettings): Promise<number> {
  const workspace = workspaceAt(resolve(settings.dataDir));
  const progress = session.progress();
  prepareWorkspace(workspace);
  const wasKilled = await takeHold(workspace, progress);
  const running = new Running();
  try {
    const started = await start(session, settings, workspace, running, progress, wasKilled);
    session.terminal.out(started);
    return await stayUp(session, running);
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
  running: Running,
  progress: Progress,
  wasKilled: boolean,
): Promise<string> {
  const signal = session.interrupted;
  const began = performance.now();
  const { engine, isOwn } = await startEngine(session, settings, workspace, running, progress);
  const registry = settings.quickstart
    ? await prepareImage(workspace, engine, running, progress, signal)
    : undefined;
  const plane = await stepped(progress, 'Control plane', async () => {
    const port = await choosePort(readState(workspace).apiPort, settings.port);
    writeState(workspace, { apiPort: port });
    const started = await startControlPlane(workspace, port, signal);
    return [started, started.url] as const;
  });
  running.add(plane.child);
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
    wasKilled && samplePort !== undefined ? samplePort : await choosePort(samplePort, WEB_PORT, '0.0.0.0');
  writeState(workspace, { samplePort: port });
  running.onStop('network', () => leaveMachine(workspace));
  const wayIn = settings.quickstart
    ? await chooseWayIn(
        workspace,
        { mesh: process.env['BERTH_AGENT_MESH'], mayInstall: isOwn, wasKilled },
        progress,
        signal,
      )
    : undefined;
  const node = await stepped(progress, 'This machine as a node', async () => {
    const started = await startNode(workspace, plane, engine.path, wayIn, signal);
    return [started, started.text] as const;
  });
  running.add(node.child);
  const urls =
    registry === undefined
      ? []
      : await runSample(session, plane, engine, { image: registry, port, wayIn }, progress);
  return summary(workspace, plane, urls, contextText, performance.now() - began);
}

async function startEngine(
  session: Session,
  settings: UpSettings,
  workspace: Workspace,
  running: Running,
  progress: Progress,
): Promise<{ readonly engine: EngineSocket; readonly isOwn: boolean }> {
  const signal = session.interrupted;
  const wish = {
    sample: settings.quickstart,
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
  running: Running,
  progress: Progress,
  signal: AbortSignal,
): Promise<string> {
  const host = await stepped(progress, 'Local registry', async () => {
    const port = await choosePort(readState(workspace).registryPort, REGISTRY_PORT);
    writeState(workspace, { registryPort: port });
    const started = await startRegistry(workspace, port, signal);
    running.add(started.child);
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
    withContext(file, CONTEXT, { server: plane.url, token }, makeCurrent),
  );
  return [
    makeCurrent ? '' : ` --context ${CONTEXT}`,
    makeCurrent
      ? `context ${CONTEXT} in ${path}`
      : `context ${CONTEXT} in ${path}; ${file.current ?? ''} stays the current one`,
  ];
}

function summary(
  workspace: Workspace,
  plane: ControlPlane,
  [url, byHost]: readonly string[],
  flags: string,
  tookMs: number,
): string {
  const rows: readonly (readonly [string, string] | undefined)[] = [
    url === undefined ? undefined : ['Sample', url],
    byHost === undefined ? undefined : ['By its host', byHost],
    ['Dashboard', `${plane.url}/`],
    ['API and docs', `${plane.url}/docs`],
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

Ctrl-C stops everything; what was deployed is kept for the next start. --clean removes it.
`;
}

/** Until Ctrl-C; a program that ends on its own ends everything, with its last output. */
async function stayUp(session: Session, running: Running): Promise<number> {
  const ended = once(session.interrupted, 'abort');
  while (!session.interrupted.aborted) {
    const gone = running.children.find((child) => child.ended());
    if (gone !== undefined)
      throw new Failure(`${gone.name} ended on its own`, {
        advice: [...gone.lastWords(), `log: ${gone.logFile}`],
      });
    await Promise.race([ended, pause(WATCH_MS)]);
  }
  return EXIT.ok;
}

/** Removes the folder, what an earlier run left running, and the remembered context. */
export async function clean(session: Session, dataDir: string): Promise<number> {
  const workspace = workspaceAt(resolve(dataDir));
  const { owner } = readState(workspace);
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
  const ours = apiPort !== undefined && file.contexts[CONTEXT]?.server === `http://127.0.0.1:${apiPort}`;
  if (ours) writeContexts(session.environment, withoutContext(file, CONTEXT));
  removeWorkspace(workspace);
  session.terminal.out(`removed ${workspace.folder}${ours ? ` and context ${CONTEXT}` : ''}\n`);
  return EXIT.ok;
}
