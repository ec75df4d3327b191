/**
 * A machine that systemd boots, as a container of systemd-nspawn: programs of this machine read-only, everything else its own.
 * The units that the package ships are installed in it as the guide says.
 *
 *     const machine = await bootMachine({ name: 'one', namespace: 'be12', files: { '/etc/berth/agent.env': '…' } });
 *     machine.run('systemctl', 'start', 'berth-agent');
 *     await machine.end();
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '../eventually.ts';
import { removeWithMounts } from './mounts.ts';
import { ensurePackages } from './packages.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const UNITS = join(CHECKOUT, 'packaging/systemd');
const BOOT_MS = 60_000;

/** Where `npm install --global` puts it; the build of this checkout in place of the package. */
const BERTH = `#!/bin/sh
program=$1
shift
exec /opt/node --disable-proto=delete --disable-warning=ExperimentalWarning "/opt/berth/dist/$program/main.js" "$@"
`;

export interface BootedMachine {
  /** Its root, as this machine sees it. */
  readonly root: string;
  /** What it prints; fails with what it says. */
  run(...command: readonly string[]): string;
  /** The last that these units said, for a failure. */
  journal(...units: readonly string[]): string;
  /** Every process at once, as when its power is cut. */
  cut(): Promise<void>;
  /** The same disk again. */
  boot(): Promise<void>;
  end(): Promise<void>;
}

export interface MachineOptions {
  readonly name: string;
  /** The network namespace that it is in; absent: that of the tests. */
  readonly namespace?: string;
  readonly files: Readonly<Record<string, string>>;
  /** As Debian installs it, without anything of Berth. */
  readonly bare?: boolean;
  /** A folder with a whole Debian, in place of the programs of this machine; nothing of Berth is put into it. */
  readonly debian?: string;
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode: path.includes('/bin/') ? 0o755 : 0o644 });
}

/** A root around the programs of this machine. */
function layOut(root: string, bare: boolean): void {
  chmodSync(root, 0o755);
  for (const folder of ['etc', 'var', 'usr', 'run', 'tmp', 'proc', 'sys', 'dev', 'root', 'opt'])
    mkdirSync(join(root, folder));
  for (const link of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${link}`, join(root, link));
  write(root, '/etc/os-release', readFileSync('/etc/os-release', 'utf8'));
  write(root, '/etc/passwd', 'root:x:0:0::/root:/bin/sh\n');
  write(root, '/etc/group', 'root:x:0:\ndocker:x:999:\n');
  write(root, '/etc/machine-id', '');
  if (!bare) write(root, '/local/bin/berth', BERTH);
  mkdirSync(join(root, 'local'), { recursive: true });
  mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
  for (const unit of bare ? [] : ['berth-server.service', 'berth-agent.service']) {
    copyFileSync(join(UNITS, unit), join(root, 'etc/systemd/system', unit));
  }
  mkdirSync(join(root, 'etc/sysusers.d'), { recursive: true });
  copyFileSync(join(UNITS, 'berth.sysusers.conf'), join(root, 'etc/sysusers.d/berth.conf'));
}

export async function bootMachine({
  name,
  namespace,
  files,
  debian,
  bare = debian !== undefined,
}: MachineOptions): Promise<BootedMachine> {
  ensurePackages(['systemd-container', 'docker.io']);
  const root = debian ?? mkdtempSync(join(tmpdir(), 'berth-machine-'));
  if (debian === undefined) layOut(root, bare);
  for (const [path, text] of Object.entries(files)) write(root, path, text);
  let container: ChildProcess | undefined;
  let init = 0;

  async function boot(): Promise<void> {
    const local = `${join(root, 'local')}:/usr/local`;
    const readOnly = bare ? [] : [local, `${realpathSync(process.execPath)}:/opt/node`];
    if (debian === undefined) readOnly.unshift('/usr');
    for (const part of bare ? [] : ['dist', 'src', 'test', 'package.json', 'node_modules'])
      readOnly.push(`${join(CHECKOUT, part)}:/opt/berth/${part}`);
    const log = openSync(join(root, 'boot.log'), 'a');
    container = spawn(
      'systemd-nspawn',
      [
        '--quiet',
        '--register=no',
        '--keep-unit',
        '--console=pipe',
        '--capability=all',
        `--directory=${root}`,
        `--machine=${name}`,
        ...(namespace === undefined ? [] : [`--network-namespace-path=/run/netns/${namespace}`]),
        ...readOnly.map((path) => `--bind-ro=${path}`),
        ...(bare && debian === undefined ? [`--bind=${local}`] : []),
        '--bind=/dev/loop-control',
        '--boot',
        'systemd.unit=basic.target',
      ],
      {
        stdio: ['ignore', log, log],
        // Its own rules for devices, whatever cgroups this machine has; an engine needs more system calls than nspawn grants.
        env: { PATH: '/usr/sbin:/usr/bin', SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1', SYSTEMD_SECCOMP: '0' },
      },
    );
    closeSync(log);
    const { pid } = container;
    await eventually(
      `${name} has booted`,
      () => {
        init = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
        return init > 0 ? tryRun('systemctl', 'is-active', 'basic.target') : '';
      },
      (state) => state === 'active',
      BOOT_MS,
    );
  }

  function run(...command: readonly string[]): string {
    try {
      return enter(command);
    } catch (error) {
      const journal = enter(['journalctl', '--no-pager', '--lines=30', '--output=cat']);
      throw new Error(`${command.join(' ')} failed on ${name}:\n${journal}`, { cause: error });
    }
  }

  function enter(command: readonly string[]): string {
    const namespaces = ['--mount', '--pid', '--uts', '--ipc', '--net', '--cgroup'];
    return execFileSync('nsenter', [`--target=${init}`, ...namespaces, ...command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin' },
    }).trim();
  }

  function tryRun(...command: readonly string[]): string {
    try {
      return enter(command);
    } catch {
      return '';
    }
  }

  async function cut(): Promise<void> {
    if (container === undefined || container.exitCode !== null || container.signalCode !== null) return;
    const gone = once(container, 'exit');
    process.kill(init, 'SIGKILL');
    await gone;
  }

  await boot();
  return {
    root,
    run,
    journal: (...units) =>
      tryRun('journalctl', '--no-pager', '--lines=25', ...units.map((unit) => `--unit=${unit}`)),
    cut,
    boot,
    end: async () => {
      await cut();
      removeWithMounts(root);
    },
  };
}
