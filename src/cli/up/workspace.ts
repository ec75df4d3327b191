import { createHash } from 'node:crypto';
import {
  type Dirent,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf, messageOf } from '../../core/model/values.ts';
import { makeFolder } from '../../shared/folders.ts';
import { usage } from '../failure.ts';

/** Everything that `berth up` keeps is below one folder, so that --clean can remove it whole. */
export interface Workspace {
  readonly folder: string;
  /** Sockets: a path of a unix socket may have 107 bytes only, so a deep folder has them elsewhere. */
  readonly runFolder: string;
  readonly logs: string;
  readonly adminToken: string;
}

const MAX_RUN_FOLDER = 60;
const STATE = 'up.json';
const DRAFT = `${STATE}.new`;

export function workspaceAt(folder: string): Workspace {
  const below = join(folder, 'run');
  const digest = createHash('sha256').update(folder).digest('hex').slice(0, 10);
  return {
    folder,
    runFolder: below.length <= MAX_RUN_FOLDER ? below : `/run/berth-${digest}`,
    logs: join(folder, 'logs'),
    adminToken: join(folder, 'admin-token'),
  };
}

/** The state comes before the folders: a start that ends early leaves what the next one knows as its own. */
export function prepareWorkspace(workspace: Workspace): void {
  const holds = holdingsOf(workspace);
  makeFolder(workspace.folder, '--data-dir');
  // What a run that goes on has written is its own.
  if (holds !== 'own') begin(workspace, holds === 'foreign' ? { isShared: true } : {});
  for (const folder of [workspace.logs, workspace.runFolder]) makeFolder(folder, '--data-dir', 0o777);
}

function begin(workspace: Workspace, state: SavedState): void {
  try {
    writeState(workspace, state);
  } catch (error) {
    throw usage(`--data-dir ${workspace.folder} cannot be written: ${messageOf(error)}`);
  }
}

/** What a start has made that ended before it wrote its state. */
function isRemnant(folder: string, entry: Dirent): boolean {
  if (entry.name === DRAFT) return true;
  const isOurs = entry.isDirectory() && (entry.name === 'logs' || entry.name === 'run');
  return isOurs && readdirSync(join(folder, entry.name)).length === 0;
}

/** Whether a run made the folder: it has its state, or others' files alone. */
export function holdingsOf({ folder }: Workspace): 'none' | 'empty' | 'own' | 'foreign' {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    if (entries.some(({ name }) => name === STATE)) return 'own';
    return entries.every((entry) => isRemnant(folder, entry)) ? 'empty' : 'foreign';
  } catch (error) {
    const code = errnoOf(error);
    // A file above it is told where the folder is made.
    if (code === 'ENOENT' || (code === 'ENOTDIR' && !existsSync(folder))) return 'none';
    throw usage(
      `--data-dir ${folder} ${code === 'ENOTDIR' ? 'is not a folder' : `cannot be read: ${messageOf(error)}`}`,
    );
  }
}

/** What the next run reuses, and what it has to clean up after a run that was killed. */
export interface SavedState {
  readonly apiPort?: number;
  readonly registryPort?: number;
  readonly samplePort?: number;
  /** For HTTP and HTTPS. */
  readonly ingressPorts?: readonly [number, number];
  /** Second and third byte of the own engine's addresses, 10.x.y.0/20. */
  readonly subnet?: readonly [number, number];
  /** The run that holds the folder now. */
  readonly owner?: Holder;
  readonly children?: readonly Holder[];
  /** The folder held other files before its first run: --clean may not remove it. */
  readonly isShared?: boolean;
}

/** A process; its start time tells it apart from a later one of the same number. */
export interface Holder {
  readonly pid: number;
  readonly startTime: string;
  readonly name: string;
}

function file(workspace: Workspace): string {
  return join(workspace.folder, STATE);
}

export function readState(workspace: Workspace): SavedState {
  try {
    return JSON.parse(readFileSync(file(workspace), 'utf8')) as SavedState;
  } catch {
    return {};
  }
}

export function writeState(workspace: Workspace, changes: SavedState): void {
  const draft = join(workspace.folder, DRAFT);
  writeFileSync(draft, `${JSON.stringify({ ...readState(workspace), ...changes }, null, 2)}\n`, {
    mode: 0o600,
  });
  renameSync(draft, file(workspace));
}

export function removeWorkspace(workspace: Workspace): void {
  rmSync(workspace.runFolder, { recursive: true, force: true });
  rmSync(workspace.folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Field 22 of /proc/<pid>/stat; undefined when there is no such process, or it has ended. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

export function isAlive({ pid, startTime }: Holder): boolean {
  return startTimeOf(pid) === startTime;
}
