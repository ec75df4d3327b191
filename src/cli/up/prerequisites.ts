import { Failure } from '../failure.ts';
import type { Progress } from '../progress.ts';
import { type EngineSocket, findEngine } from './engine-socket.ts';
import type { Workspace } from './workspace.ts';
import { lacking, packageName } from './advice.ts';
import { BUSYBOX, DOCKERD, find, install, IP, isRoot, type Program, REGISTRY, unpack } from './programs.ts';
import { systemOf } from './system.ts';

export interface EngineChoice {
  readonly sample: boolean;
  /** A registry for it is there already. */
  readonly hasRegistry: boolean;
  /** A socket that was named; no other engine is taken in its place. */
  readonly engine: string | undefined;
  /** An engine of its own, although another one runs. */
  readonly ownEngine: boolean;
  readonly command: string;
}

/** The engine that runs already, or undefined: then everything that an own one needs is there when this returns. */
export async function meetPrerequisites(
  workspace: Workspace,
  choice: EngineChoice,
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
  signal: AbortSignal,
): Promise<EngineSocket | undefined> {
  const system = systemOf();
  const lack = { system, isRoot: isRoot(), command: choice.command };
  if (system.family === 'macos') throw lacking({ ...lack, missing: [], noEngine: true });
  const running = choice.ownEngine ? undefined : await findEngine(choice.engine, environment);
  if (running === undefined && choice.engine !== undefined) {
    throw new Failure(`no engine answers at ${choice.engine}`, {
      advice: ['Is it running, and may you use its socket?'],
    });
  }
  const needed = [
    ...(running === undefined ? [DOCKERD, IP] : []),
    ...(choice.sample && !choice.hasRegistry ? [REGISTRY] : []),
    ...(choice.sample ? [BUSYBOX] : []),
  ];
  const missing = needed.filter((program) => find(program, workspace) === undefined);
  const noEngine = running === undefined;
  if (noEngine && !lack.isRoot) throw lacking({ ...lack, missing, noEngine });
  if (missing.length === 0) return running;
  progress.line('Not on this machine yet:');
  for (const program of missing) progress.line(`  ${packageName(program, system).padEnd(16)} ${program.why}`);
  if (!system.hasApt) throw lacking({ ...lack, missing, noEngine });
  return running === undefined
    ? installAll(missing, choice, environment, progress, signal)
    : unpackAll(workspace, missing, running, progress, signal);
}

async function installAll(
  missing: readonly Program[],
  choice: EngineChoice,
  environment: Readonly<Record<string, string | undefined>>,
  progress: Progress,
  signal: AbortSignal,
): Promise<EngineSocket | undefined> {
  const step = progress.step(`Install ${missing.map((program) => program.package).join(', ')} with apt-get`);
  try {
    await install(missing, signal);
  } catch (error) {
    step.fail('');
    throw error;
  }
  step.done();
  // Where services are started on installation, an engine runs now, and that one is used.
  return choice.ownEngine || !missing.includes(DOCKERD) ? undefined : findEngine(undefined, environment);
}

/** Beside a running engine nothing is installed: packages are unpacked below the data folder. */
async function unpackAll(
  workspace: Workspace,
  missing: readonly Program[],
  running: EngineSocket,
  progress: Progress,
  signal: AbortSignal,
): Promise<EngineSocket> {
  const step = progress.step(
    `Unpack ${missing.map((program) => program.package).join(', ')} below ${workspace.folder} (nothing is installed)`,
  );
  try {
    await unpack(
      missing.filter((program) => program.unpackable),
      workspace,
      signal,
    );
  } catch (error) {
    step.fail('');
    throw error;
  }
  step.done();
  return running;
}
