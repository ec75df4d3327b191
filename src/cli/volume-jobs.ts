/** Jobs that keep the bytes of a volume elsewhere with restic, as documents that can be kept in files. */
import type { Json } from './client.ts';

/** Where each job has the volume: restic records whole paths, so that a restore puts everything where it was. */
const MOUNT = '/volume';
/** Where a drill restores to, in the file system of its own container: it goes with it. */
const RESTORED = '/restored';
/** Of an attempt: a job that hangs keeps the next one from running. */
const LONGEST_ATTEMPT = '12h';

export interface Repository {
  /** Absent: a secret has it. */
  readonly repo?: string;
  readonly image: string;
  /** Each key of the secret is delivered as NAME_key, which is what restic reads: RESTIC_PASSWORD. */
  readonly secrets: readonly { readonly name: string; readonly path: string }[];
}

export interface BackupTerms extends Repository {
  readonly name: string;
  readonly volume: string;
  readonly schedule: string;
  /** In the volume; absent: all of it. */
  readonly path?: string;
  readonly keep: Readonly<Record<'daily' | 'weekly' | 'monthly', number>>;
  readonly before?: Json;
}

export interface RestoreTerms extends Repository {
  readonly name: string;
  /** What is restored into. */
  readonly volume: string;
  /** What was saved. */
  readonly from: string;
  readonly snapshot: string;
  readonly path?: string;
  /** What `path` is called in the new volume. */
  readonly as?: string;
}

export interface DrillTerms extends Repository {
  readonly name: string;
  readonly from: string;
  readonly schedule: string;
  readonly path?: string;
  readonly check: readonly string[];
}

const BACKUP = `restic cat config > /dev/null 2>&1 || restic init
restic unlock
restic backup --host "$1" --tag berth "$2"
restic forget --host "$1" --tag berth --keep-daily "$3" --keep-weekly "$4" --keep-monthly "$5" --prune
`;

/** restic ends with 0 also when the snapshot has nothing of what was asked for. */
function orNothing(folder: string, path: string, first = ''): string {
  return `if [ -z "$(ls -A ${folder} | grep -vx lost+found)" ]; then
${first}  echo "the snapshot has nothing under ${path}" >&2
  exit 74
fi
`;
}

/**
 * The folders above are made first: restic would open those that it makes to root alone. They go when there was nothing for them, so that
 * another restore finds the volume as it was.
 */
const RESTORE = `if [ -n "$(ls -A ${MOUNT} | grep -vx lost+found)" ]; then
  echo "the volume is not empty: nothing is restored over what is there" >&2
  exit 73
fi
mkdir -p "$3"
restic restore "$2" --host "$1" --tag berth --include "$3" --target /
${orNothing('"$3"', '$3', '  rmdir -p "$3" 2> /dev/null || :\n')}`;
const RENAME = 'mv "$3" "$4"\n';

const DRILL = `host=$1 path=$2
shift 2
mkdir -p "${RESTORED}$path"
restic restore latest --host "$host" --tag berth --include "$path" --target ${RESTORED}
cd "${RESTORED}$path"
${orNothing('.', '$path')}"$@"
`;

function script(text: string, ...args: readonly string[]): readonly string[] {
  return ['sh', '-euc', text, 'sh', ...args];
}

function within(path: string | undefined): string {
  return path === undefined ? MOUNT : `${MOUNT}/${path}`;
}

/** Root, since the files of a volume belong to whoever wrote them. */
function shared({ repo, image, secrets }: Repository): Json {
  return {
    image,
    user: '0',
    environment: {
      ...(repo !== undefined && { RESTIC_REPOSITORY: repo }),
      RESTIC_CACHE_DIR: '/tmp/restic-cache',
    },
    secrets: secrets.map(({ name, path }) => ({ name, vault_path: path, anchor: 'external' })),
  };
}

export function backupJob(terms: BackupTerms): Json {
  const { name, volume, schedule, path, keep, before } = terms;
  const counts = [keep.daily, keep.weekly, keep.monthly].map(String);
  return {
    kind: 'Job',
    name,
    ...shared(terms),
    command: script(BACKUP, volume, within(path), ...counts),
    // Placed where the bytes are, and where they are after a promotion.
    volumes: [{ volume, mountPath: MOUNT, readOnly: true }],
    schedule,
    timeout: LONGEST_ATTEMPT,
    retries: 2,
    ...(before && { before }),
  };
}

/** Once, when it is created. */
export function restoreJob(terms: RestoreTerms): Json {
  const { name, volume, from, snapshot, path, as } = terms;
  const renamed = as === undefined ? [] : [within(as)];
  return {
    kind: 'Job',
    name,
    ...shared(terms),
    command: script(as === undefined ? RESTORE : RESTORE + RENAME, from, snapshot, within(path), ...renamed),
    volumes: [{ volume, mountPath: MOUNT }],
    timeout: LONGEST_ATTEMPT,
  };
}

export function drillJob(terms: DrillTerms): Json {
  const { name, from, schedule, path, check } = terms;
  return {
    kind: 'Job',
    name,
    ...shared(terms),
    command: script(DRILL, from, within(path), ...check),
    schedule,
    timeout: LONGEST_ATTEMPT,
  };
}
