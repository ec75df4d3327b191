import { Failure } from '../failure.ts';
import { DOCKERD, IP, type Program, REGISTRY } from './programs.ts';
import type { Family, System } from './system.ts';

/** What is missing, where, and who asks. */
interface Lack {
  readonly system: System;
  readonly missing: readonly Program[];
  /** No engine runs that could be used. */
  readonly noEngine: boolean;
  readonly isRoot: boolean;
  /** What was typed, to be typed again. */
  readonly command: string;
}

interface Words {
  readonly asRoot: string;
  readonly refresh?: string;
  readonly install?: string;
  /** By the package of Debian: what the same is called here. What is not there, nobody packages here as far as we know. */
  readonly packages: Readonly<Record<string, string>>;
  readonly startDocker?: string;
  readonly useDocker?: string;
  readonly hasUserPodman: boolean;
}

const SYSTEMD = {
  asRoot: 'sudo',
  startDocker: 'systemctl start docker',
  useDocker: 'sudo usermod -aG docker "$USER" && newgrp docker',
  hasUserPodman: true,
} as const;

const WORDS: Readonly<Record<Exclude<Family, 'macos'>, Words>> = {
  debian: {
    ...SYSTEMD,
    refresh: 'apt-get update',
    install: 'apt-get install -y',
    packages: {
      'docker.io': 'docker.io',
      'docker-registry': 'docker-registry',
      'busybox-static': 'busybox-static',
    },
  },
  fedora: {
    ...SYSTEMD,
    install: 'dnf install -y',
    packages: { 'docker.io': 'moby-engine', iproute2: 'iproute', 'busybox-static': 'busybox' },
  },
  // Of engines it has Podman alone.
  enterprise: { ...SYSTEMD, install: 'dnf install -y', packages: { iproute2: 'iproute' } },
  alpine: {
    asRoot: 'doas',
    install: 'apk add',
    packages: {
      'docker.io': 'docker',
      'docker-registry': 'docker-registry',
      'busybox-static': 'busybox-static',
    },
    startDocker: 'rc-service docker start',
    useDocker: 'doas addgroup "$USER" docker   # and log in again',
    hasUserPodman: false,
  },
  other: { asRoot: 'sudo', packages: {}, hasUserPodman: false },
};

const REGISTRY_HOST = '127.0.0.1:5000';

function namesOf({ packages }: Words, programs: readonly Program[]): readonly string[] {
  return programs.flatMap((program) => packages[program.package] ?? []);
}

/** Undefined: nobody told us how this system installs. */
function installLine(words: Words, isRoot: boolean, names: readonly string[]): string | undefined {
  if (words.install === undefined || names.length === 0) return undefined;
  const typed = [words.refresh, `${words.install} ${names.join(' ')}`].filter((line) => line !== undefined);
  return typed.map((line) => asRoot(words, isRoot, line)).join(' && ');
}

function asRoot(words: Words, isRoot: boolean, line: string): string {
  return isRoot ? line : `${words.asRoot} ${line}`;
}

function engineLines(words: Words, isRoot: boolean): readonly string[] {
  const { startDocker, useDocker, hasUserPodman } = words;
  const docker = installLine(words, isRoot, namesOf(words, [DOCKERD]));
  const podman = hasUserPodman ? installLine(words, isRoot, ['podman']) : undefined;
  const ways = [
    ...(docker === undefined || startDocker === undefined
      ? []
      : [
          `  ${docker} && ${asRoot(words, isRoot, startDocker)}`,
          ...(isRoot || useDocker === undefined ? [] : [`  ${useDocker}`]),
        ]),
    ...(docker === undefined || podman === undefined ? [] : ['or']),
    ...(podman === undefined
      ? []
      : [`  ${podman} && systemctl ${isRoot ? '' : '--user '}start podman.socket`]),
  ];
  return ways.length === 0 ? ['  (Docker or Podman, installed by the means of this system)'] : ways;
}

function sampleLines(words: Words, missing: readonly Program[], isRoot: boolean): readonly string[] {
  const line = installLine(words, isRoot, namesOf(words, missing));
  const unknown = missing.filter(
    (program) => words.packages[program.package] === undefined && program !== REGISTRY,
  );
  return [
    'The sample needs more (without --quickstart nothing of it):',
    ...(line === undefined ? [] : [`  ${line}`]),
    ...unknown.map(({ paths, why }) => `  ${paths[0] ?? ''}, which ${why}: we know of no package here`),
    ...(missingRegistry(words, missing)
      ? [
          '  a registry: we know of no package here; one in a container will do (docker or podman):',
          `  docker run --detach --publish ${REGISTRY_HOST}:5000 docker.io/library/registry:2`,
        ]
      : []),
  ];
}

function missingRegistry({ packages }: Words, missing: readonly Program[]): boolean {
  return missing.includes(REGISTRY) && packages[REGISTRY.package] === undefined;
}

/** What a program is called here; Debian's word where we know no other. */
export function packageName({ package: name }: Program, { family }: System): string {
  return (family === 'macos' ? undefined : WORDS[family].packages[name]) ?? name;
}

/** Beside those that the quickstart needs. */
const RENAMED: Readonly<Partial<Record<Family, Readonly<Record<string, string>>>>> = {
  fedora: { 'docker.io': 'moby-engine', iproute2: 'iproute' },
  // Of engines it has Podman alone.
  enterprise: { 'docker.io': 'podman', iproute2: 'iproute' },
  alpine: { 'docker.io': 'docker' },
};

/** `dnf install -y iproute`: packages of Debian as this system calls and installs them; without their command where it is not known. */
export function installText(names: readonly string[], { family, hasApt }: System): string {
  const words = family === 'macos' ? undefined : WORDS[hasApt ? 'debian' : family];
  const own = names.map((name) => RENAMED[hasApt ? 'debian' : family]?.[name] ?? name).join(' ');
  return words?.install === undefined ? `install ${own}` : `${words.install} ${own}`;
}

/** What to type, in the words of the system, where this command cannot do it for who typed it. */
export function lacking({ system, missing, noEngine, isRoot, command }: Lack): Failure {
  if (system.family === 'macos') return needsLinux(command);
  const words = WORDS[system.hasApt ? 'debian' : system.family];
  const byRoot = system.hasApt || missing.length === 0;
  // Those two are for an engine of our own. What the sample needs is had by apt-get without root.
  const sample = system.hasApt ? [] : missing.filter((program) => program !== DOCKERD && program !== IP);
  const nothing = `on ${system.name} this command installs nothing by itself`;
  const why = byRoot ? 'starting one needs root' : nothing;
  return new Failure(noEngine ? `no container engine runs here, and ${why}` : nothing, {
    advice: [
      ...(byRoot ? ['Either let this command do it:', `  ${words.asRoot} ${command}`] : []),
      ...(noEngine ? [`${byRoot ? 'or start' : 'Start'} an engine that you may use:`] : []),
      ...(noEngine ? engineLines(words, isRoot) : []),
      ...(sample.length === 0 ? [] : sampleLines(words, sample, isRoot)),
      'Then run it again:',
      `  ${command}${missingRegistry(words, sample) ? ` --registry ${REGISTRY_HOST}` : ''}`,
    ],
  });
}

/** Control planes and nodes need its files, mounts and networks; the command line alone does not. */
function needsLinux(command: string): Failure {
  return new Failure('control planes and nodes run on Linux, and this is macOS', {
    advice: [
      'Run it in a virtual machine with Linux, for instance:',
      '  brew install lima && limactl start --name=berth template://debian && limactl shell berth',
      'and there, in a checkout of its own:',
      `  ${command}`,
      'The command line works here, with a control plane elsewhere: berth login --server URL',
    ],
  });
}
