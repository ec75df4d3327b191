import { totalmem } from 'node:os';

/**
 * For programs that read what another machine sent: they are root, and what they read says which names they write. They get
 * namespaces of their own, in which nothing is but the programs of the machine, read-only, and one folder; no network, no
 * devices, no other process; and of root's capabilities those to give files their owners and modes.
 */
export interface ProgramConfinement {
  /** Seen as `COPY` inside; all that can be written. */
  readonly folder: string;
  /** An empty folder, to build the root in; outside it stays empty. */
  readonly jail: string;
  /** Beside those for owners and modes. */
  readonly capabilities?: readonly 'sys_admin'[];
}

export const COPY = '/copy';

/**
 * Without dac_read_search, which opens files by their number, past every folder. Devices can be made, since they are part of a
 * volume, and not be opened: volumes are mounted without them.
 */
const CAPABILITIES = ['chown', 'dac_override', 'fowner', 'fsetid', 'setfcap', 'mknod'];
const NAMESPACES = ['--mount', '--pid', '--net', '--ipc', '--uts', '--fork', '--kill-child'];
const LEAST_MEMORY_BYTES = 512 * 2 ** 20;
/** Of the machine's memory, for the lists of files that the other side may make as long as it likes. */
const MEMORY_SHARE = 4;

/** Words come as arguments, never as part of it. The link to /proc is for `umount` alone and leads nowhere after it. */
const SCRIPT = `set -e
jail=$1 folder=$2 memory=$3 capabilities=$4
shift 4
echo 1000 > /proc/self/oom_score_adj || :
mount -t tmpfs -o nodev,nosuid,noexec,mode=0755,size=1m jail "$jail"
cd "$jail"
for name in usr bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then cp -P "/$name" "$name"
  elif [ -d "/$name" ]; then
    mkdir "$name"
    mount --bind "/$name" "$name"
    mount -o remount,bind,ro,nodev,nosuid "$name"
  fi
done
mkdir copy old
ln -s old/proc proc
mount --bind "$folder" copy
mount -o remount,bind,nodev,nosuid,noexec copy
mount -o remount,bind,ro,nodev,nosuid,noexec .
pivot_root . old
umount --lazy /old
cd /
ulimit -c 0
ulimit -v "$memory"
exec setpriv --bounding-set "-all,$capabilities" --inh-caps=-all --no-new-privs -- "$@"`;

/** The arguments of `unshare` that run `path` confined. */
export function confinedCommand(
  path: string,
  args: readonly string[],
  { folder, jail, capabilities = [] }: ProgramConfinement,
): readonly string[] {
  const kept = [...CAPABILITIES, ...capabilities].map((name) => `+${name}`).join(',');
  const memory = Math.max(LEAST_MEMORY_BYTES, Math.floor(totalmem() / MEMORY_SHARE));
  const given = [jail, folder, String(Math.floor(memory / 1024)), kept, path, ...args];
  return [...NAMESPACES, '--propagation', 'slave', '--', '/bin/sh', '-c', SCRIPT, 'sh', ...given];
}
