import { describe, expect, it } from 'vitest';
import { type Look, obstacle, readLook } from './look.ts';

const NOW = 1_800_000_000_000;
const TEXT = `Welcome to berlin! x=y
root=sudo
system=Linux
machine=aarch64
host=berlin
now=1800000090
systemd=yes
program=docker
socket=/var/run/docker.sock
free=Filesystem 1024-blocks Used Available Capacity Mounted on /dev/vda1 100000 40000 60000 40% /
berth=ours
release=0.1.0-abc
unpacked=0.1.0-abc
unpacked=0.0.9-def
node=berlin
server=https://10.0.0.1:7600
running=yes
`;
const LOOK: Look = readLook(TEXT, NOW);
const NEEDS = { architecture: 'arm64', bytes: 1_000_000, engine: undefined };

it('reads what the machine says, whatever its login shell says besides', () => {
  expect(LOOK).toEqual({
    root: 'sudo',
    system: 'Linux',
    machine: 'aarch64',
    host: 'berlin',
    musl: false,
    systemd: true,
    missing: [],
    programs: ['docker'],
    sockets: ['/var/run/docker.sock'],
    aheadS: 90,
    freeBytes: 60_000 * 1024,
    berth: 'ours',
    release: '0.1.0-abc',
    unpacked: ['0.1.0-abc', '0.0.9-def'],
    node: 'berlin',
    server: 'https://10.0.0.1:7600',
    running: true,
  });
});

it('knows nothing of a machine that says nothing', () => {
  expect(readLook('', NOW)).toMatchObject({ root: 'none', system: '', freeBytes: undefined, berth: 'none' });
});

describe('what keeps a machine from becoming a node', () => {
  const found = (change: Partial<Look>, needs = {}) =>
    obstacle('root@h', { ...LOOK, release: undefined, ...change }, { ...NEEDS, ...needs });

  it('is nothing where everything is there', () => {
    expect(found({})).toBeUndefined();
  });

  it.each<[Partial<Look>, object, string, string]>([
    [{ root: 'none' }, {}, 'no root there, and no sudo', 'root@HOST'],
    [{ root: 'password' }, {}, 'sudo asks for a password there', 'NOPASSWD'],
    [{ system: 'Darwin' }, {}, 'it runs Darwin', 'Linux'],
    [{ machine: 'riscv64' }, {}, 'its processor is riscv64', 'arm64'],
    [{ musl: true }, {}, 'its C library is musl', 'glibc'],
    [{ missing: ['tar'] }, {}, 'not installed there: tar', 'apt-get install tar'],
    [
      { machine: 'x86_64' },
      {},
      'its processor is x64, and this installation of berth is for arm64',
      '--release',
    ],
    [{ berth: 'other' }, {}, 'another berth is installed there, at /usr/local/bin/berth', 'npm uninstall'],
    [{ sockets: [], programs: [] }, {}, 'no container engine there', 'apt-get install docker.io'],
    [{ sockets: [] }, {}, 'Docker is installed there and does not run', 'systemctl enable --now docker'],
    [
      { sockets: [], programs: ['podman'] },
      {},
      'Podman is installed there, without its socket',
      'podman.socket',
    ],
    [{}, { bytes: 99e6 }, '61 MB are free below /opt, and the release needs 99 MB', 'df -h'],
  ])('%o %o', (change, needs, why, advice) => {
    const failure = found(change, needs);
    expect(failure?.message).toBe(`root@h: ${why}`);
    expect(failure?.advice.join('\n')).toContain(advice);
  });

  it('is no missing socket where another one is named', () => {
    expect(found({ sockets: [] }, { engine: '/run/user/1000/podman/podman.sock' })).toBeUndefined();
  });
});
