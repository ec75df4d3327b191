/** What a workload gives up of what containers may do by default. */
export interface Confinement {
  /** `uid`, `uid:gid`, or names that the image knows; absent: the user of the image. */
  readonly user?: string;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: Capabilities;
}

export interface Capabilities {
  /** As sent: `NET_RAW`, `CAP_NET_RAW` or `ALL`. */
  readonly drop?: readonly string[];
}

/** Of Linux, in the kernel's order, without the prefix `CAP_`. */
export const CAPABILITY_NAMES: readonly string[] = [
  'CHOWN',
  'DAC_OVERRIDE',
  'DAC_READ_SEARCH',
  'FOWNER',
  'FSETID',
  'KILL',
  'SETGID',
  'SETUID',
  'SETPCAP',
  'LINUX_IMMUTABLE',
  'NET_BIND_SERVICE',
  'NET_BROADCAST',
  'NET_ADMIN',
  'NET_RAW',
  'IPC_LOCK',
  'IPC_OWNER',
  'SYS_MODULE',
  'SYS_RAWIO',
  'SYS_CHROOT',
  'SYS_PTRACE',
  'SYS_PACCT',
  'SYS_ADMIN',
  'SYS_BOOT',
  'SYS_NICE',
  'SYS_RESOURCE',
  'SYS_TIME',
  'SYS_TTY_CONFIG',
  'MKNOD',
  'LEASE',
  'AUDIT_WRITE',
  'AUDIT_CONTROL',
  'SETFCAP',
  'MAC_OVERRIDE',
  'MAC_ADMIN',
  'SYSLOG',
  'WAKE_ALARM',
  'BLOCK_SUSPEND',
  'AUDIT_READ',
  'PERFMON',
  'BPF',
  'CHECKPOINT_RESTORE',
];

export const EVERY_CAPABILITY = 'ALL';

const KNOWN: ReadonlySet<string> = new Set([...CAPABILITY_NAMES, EVERY_CAPABILITY]);

/** In upper case and without the prefix; undefined: no capability of Linux. */
export function capabilityName(text: string): string | undefined {
  const name = text.toUpperCase();
  const bare = name.startsWith('CAP_') ? name.slice('CAP_'.length) : name;
  return KNOWN.has(bare) ? bare : undefined;
}

const MAX_ID = 2 ** 32 - 2;
const USER_OR_GROUP = /^(?:\d{1,10}|[A-Za-z_][A-Za-z0-9_.-]{0,31})$/;

function isUserOrGroup(text: string): boolean {
  return USER_OR_GROUP.test(text) && !(Number(text) > MAX_ID);
}

/** `uid`, `uid:gid`, `name`, `name:group`. */
export function isContainerUser(text: string): boolean {
  const parts = text.split(':', 3);
  return parts.length <= 2 && parts.every(isUserOrGroup);
}

/** Feature of an agent that carries all of this out: an older one would ignore it silently. */
export const CONFINEMENT_FEATURE = 'confinement';

/** Whether something is asked for that an agent without the feature would not do. */
export function isConfined({ user, readOnlyRootFilesystem, capabilities }: Confinement): boolean {
  return user !== undefined || readOnlyRootFilesystem === true || (capabilities?.drop ?? []).length > 0;
}
