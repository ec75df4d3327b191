import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { lacking, packageName } from './advice.ts';
import { BUSYBOX, DOCKERD, IP, REGISTRY } from './programs.ts';
import { systemOf } from './system.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

/** A machine of which these files are known. */
function rootWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'berth-system-'));
  roots.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const APT = { 'usr/bin/apt-get': '' };
const RELEASES = {
  debian: 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nID=debian\n',
  ubuntu: 'PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nID_LIKE=debian\n',
  mint: '# comment\nPRETTY_NAME=\'Linux Mint 22\'\nID=linuxmint\nID_LIKE="ubuntu debian"\n',
  fedora: 'NAME="Fedora Linux"\nID=fedora\nPRETTY_NAME="Fedora Linux 41 (Server Edition)"\n',
  rocky: 'PRETTY_NAME="Rocky Linux 9.4"\nID="rocky"\nID_LIKE="rhel centos fedora"\n',
  amazon: 'PRETTY_NAME="Amazon Linux 2023"\nID="amzn"\nID_LIKE="fedora"\n',
  alpine: 'NAME="Alpine Linux"\nID=alpine\nPRETTY_NAME="Alpine Linux v3.20"\n',
  arch: 'NAME="Arch Linux"\nID=arch\n',
} as const;
type Release = keyof typeof RELEASES;

const systemWith = (release: Release, more: Readonly<Record<string, string>> = {}) =>
  systemOf(rootWith({ 'etc/os-release': RELEASES[release], ...more }), 'linux');

describe('the system of a machine', () => {
  it.each([
    ['debian', 'debian', 'Debian GNU/Linux 12 (bookworm)', true],
    ['ubuntu', 'debian', 'Ubuntu 24.04 LTS', true],
    ['mint', 'debian', 'Linux Mint 22', true],
    // They may have an apt-get, which is no way to install there.
    ['fedora', 'fedora', 'Fedora Linux 41 (Server Edition)', false],
    ['rocky', 'enterprise', 'Rocky Linux 9.4', false],
    ['amazon', 'enterprise', 'Amazon Linux 2023', false],
    ['alpine', 'alpine', 'Alpine Linux v3.20', false],
    ['arch', 'other', 'Arch Linux', true],
  ] as const)('%s is of the family %s', (release, family, name, hasApt) => {
    expect(systemWith(release, APT)).toEqual({ family, name, hasApt });
    expect(systemWith(release).hasApt).toBe(false);
  });

  it('is told by the file of the vendor where the machine has none of its own, and may not be known', () => {
    expect(systemOf(rootWith({ 'usr/lib/os-release': RELEASES.alpine }), 'linux').family).toBe('alpine');
    expect(systemOf(rootWith({}), 'linux')).toEqual({
      family: 'other',
      name: 'a Linux without /etc/os-release',
      hasApt: false,
    });
    expect(systemOf(rootWith({ 'etc/os-release': RELEASES.debian, ...APT }), 'darwin')).toEqual({
      family: 'macos',
      name: 'macOS',
      hasApt: false,
    });
  });
});

describe('what is missing', () => {
  const all = { missing: [DOCKERD, IP, REGISTRY, BUSYBOX], noEngine: true, command: 'berth up --quickstart' };
  const said = (failure: ReturnType<typeof lacking>): string =>
    [failure.message, ...failure.advice].join('\n');

  it('is said in the words of Fedora', () => {
    const system = systemWith('fedora', APT);
    expect(all.missing.map((program) => packageName(program, system))).toEqual([
      'moby-engine',
      'iproute',
      'docker-registry',
      'busybox',
    ]);
    expect(
      said(lacking({ ...all, system, isRoot: false })),
    ).toBe(`no container engine runs here, and on Fedora Linux 41 (Server Edition) this command installs nothing by itself
Start an engine that you may use:
  sudo dnf install -y moby-engine && sudo systemctl start docker
  sudo usermod -aG docker "$USER" && newgrp docker
or
  sudo dnf install -y podman && systemctl --user start podman.socket
The sample needs more (without --quickstart nothing of it):
  sudo dnf install -y busybox
  a registry: we know of no package here; one in a container will do (docker or podman):
  docker run --detach --publish 127.0.0.1:5000:5000 docker.io/library/registry:2
Then run it again:
  berth up --quickstart --registry 127.0.0.1:5000`);
  });

  it('is said in the words of Alpine, without doas to root', () => {
    const system = systemWith('alpine');
    expect(
      said(lacking({ ...all, system, isRoot: true })),
    ).toBe(`no container engine runs here, and on Alpine Linux v3.20 this command installs nothing by itself
Start an engine that you may use:
  apk add docker && rc-service docker start
The sample needs more (without --quickstart nothing of it):
  apk add docker-registry busybox-static
Then run it again:
  berth up --quickstart`);
    expect(said(lacking({ ...all, system, isRoot: false }))).toContain(
      '  doas apk add docker && doas rc-service',
    );
  });

  it('names nothing that the system has not', () => {
    const enterprise = said(lacking({ ...all, system: systemWith('rocky'), isRoot: true }));
    expect(enterprise).toContain('\n  dnf install -y podman && systemctl start podman.socket\n');
    expect(enterprise).toContain(
      '/bin/busybox, which is what the sample image is made of: we know of no package here',
    );
    expect(enterprise).not.toMatch(/moby|apt-get|docker start/);
    const unknown = said(lacking({ ...all, system: systemWith('arch'), isRoot: false }));
    expect(unknown).toContain('Docker or Podman, installed by the means of this system');
    expect(unknown).not.toMatch(/apt-get|dnf|apk/);
  });

  it('is the sample alone where an engine runs', () => {
    const system = systemWith('fedora');
    const { message, advice } = lacking({
      ...all,
      system,
      missing: [BUSYBOX],
      noEngine: false,
      isRoot: true,
    });
    expect(message).toBe('on Fedora Linux 41 (Server Edition) this command installs nothing by itself');
    expect(advice).toEqual([
      'The sample needs more (without --quickstart nothing of it):',
      '  dnf install -y busybox',
      'Then run it again:',
      '  berth up --quickstart',
    ]);
  });

  it('is root where everything else can be done by the command itself', () => {
    const system = systemWith('debian', APT);
    expect(
      said(lacking({ ...all, system, isRoot: false })),
    ).toBe(`no container engine runs here, and starting one needs root
Either let this command do it:
  sudo berth up --quickstart
or start an engine that you may use:
  sudo apt-get update && sudo apt-get install -y docker.io && sudo systemctl start docker
  sudo usermod -aG docker "$USER" && newgrp docker
or
  sudo apt-get update && sudo apt-get install -y podman && systemctl --user start podman.socket
Then run it again:
  berth up --quickstart`);
    const fedora = said(lacking({ ...all, missing: [], system: systemWith('fedora'), isRoot: false }));
    expect(fedora).toContain('starting one needs root\nEither let this command do it:\n  sudo berth up');
  });

  it('is Linux on macOS', () => {
    const failure = lacking({ ...all, system: systemOf(rootWith({}), 'darwin'), isRoot: false });
    expect(failure.message).toBe('control planes and nodes run on Linux, and this is macOS');
    expect(said(failure)).not.toMatch(/apt-get|sudo/);
  });
});
