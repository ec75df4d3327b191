import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manPages } from '../../scripts/reference/man.ts';
import { roff } from '../../scripts/reference/roff.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type BootedMachine, bootMachine } from '../support/harness/booted-machine.ts';
import { installPackage } from '../support/harness/installation.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { freePort } from '../support/harness/free-port.ts';

const ROOT = join(import.meta.dirname, '../..');
const PATIENCE_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'berth-deb-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('manual pages', () => {
  const place = join(folder, 'man');
  const complaints = (...files: readonly string[]): string =>
    spawnSync('groff', ['-t', '-K', 'utf8', '-mandoc', '-ww', '-Tutf8', '-z', ...files], {
      cwd: place,
      encoding: 'utf8',
    }).stderr;

  beforeAll(async () => {
    ensurePackages(['groff-base', 'man-db']);
    mkdirSync(place);
    for (const [name, text] of await manPages('1.2.3')) writeFileSync(join(place, name), text);
  });

  it('are there for each command and program, and read by groff and mandb without a complaint', () => {
    const names = readdirSync(place);
    const programs = ['berth.1', 'berth-server.8', 'berth-agent.8', 'berth.yaml.5', 'berth-server-logs.1'];
    const commands = COMMANDS.filter(({ name }) => name !== 'server').map(({ name }) => `berth-${name}.1`);
    expect(
      [...programs, ...commands, 'berth-node-drain.1', 'berth-server-restore.8'].filter(
        (name) => !names.includes(name),
      ),
    ).toEqual([]);
    expect(complaints(...names)).toBe('');
    // What whatis and apropos find: the name and one line.
    const index = execFileSync('lexgrog', names, { cwd: place, encoding: 'utf8' });
    expect(index).toContain('berth-apply.1: "berth-apply - create or update what files describe"');
    expect(index.trim().split('\n')).toHaveLength(names.length);
  });

  it('keep what groff would take for its own', () => {
    const text =
      "DESCRIPTION\n    .nothing 'of' `this` is \\fBa request --really ~ ^\n\nFLAGS\n    --flag\n        .so it is\n";
    const page = { name: 'odd', section: 1, summary: "Odd 'page'", text };
    writeFileSync(join(place, 'odd.1'), roff(page, '1', [page, { ...page, name: 'berth' }]));
    expect(complaints('odd.1')).toBe('');
    const read = execFileSync('groff', ['-K', 'utf8', '-mandoc', '-Tascii', '-P-cbou', 'odd.1'], {
      cwd: place,
      encoding: 'utf8',
    });
    expect(read).toContain(".nothing 'of' `this` is \\fBa request --really ~ ^");
    expect(read).toMatch(/--flag\s+\.so it is/);
  });
});

/** A whole Debian is downloaded, booted, and given the package: minutes. */
describe.runIf(LONG_TIER)('the Debian package', () => {
  let deb = '';
  let machine: BootedMachine;
  const debian = join(folder, 'debian');

  function made(tarball: string, to: string): string {
    execFileSync(process.execPath, ['scripts/deb.ts', to, '--package', tarball], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, SOURCE_DATE_EPOCH: '1790000000' },
    });
    return join(to, readdirSync(to).find((name) => name.endsWith('.deb')) ?? '');
  }

  beforeAll(async () => {
    ensurePackages(['mmdebstrap', 'lintian']);
    const { tarball } = installPackage(join(folder, 'package'));
    deb = made(tarball, join(folder, 'first'));
    const second = made(tarball, join(folder, 'second'));
    expect(readFileSync(second).equals(readFileSync(deb))).toBe(true);
    const include = 'systemd,libatomic1,docker.io,iproute2,man-db,bash-completion';
    execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${include}`, 'bookworm', debian]);
    copyFileSync(deb, join(debian, 'root', basename(deb)));
    machine = await bootMachine({
      name: 'debian',
      debian,
      files: { '/etc/default/docker': 'DOCKER_OPTS="--bridge=none --iptables=false"\n' },
    });
  }, 10 * PATIENCE_MS);
  afterAll(() => machine.end());

  const installs = (): string => machine.run('dpkg', '--install', `/root/${basename(deb)}`);
  const state = (unit: string): string =>
    machine.run('systemctl', 'show', '--property=ActiveState,UnitFileState', '--value', unit);
  const berth = (...args: readonly string[]): string =>
    machine.run('env', 'HOME=/root', 'NO_COLOR=1', 'berth', ...args);

  it(
    'has nothing that lintian calls an error or a warning',
    () => {
      const { stdout, stderr } = spawnSync('lintian', ['--allow-root', '--fail-on=none', deb], {
        encoding: 'utf8',
      });
      expect(`${stdout}${stderr.replace(/^running with root privileges.*\n/, '')}`).toBe('');
    },
    10 * PATIENCE_MS,
  );

  it(
    'is installed without starting anything, runs everything, is upgraded, removed and purged',
    async () => {
      installs();
      expect([state('berth-server'), state('berth-agent')]).toEqual([
        'inactive\ndisabled',
        'inactive\ndisabled',
      ]);
      expect(machine.run('stat', '--format=%U %a', '/var/lib/berth', '/var/lib/berth-agent')).toBe(
        'berth 700\nroot 700',
      );
      expect(berth('version')).toMatch(/^berth \d/);
      expect(
        machine.run('sh', '-c', 'ls /usr/share/man/man1/berth-apply.1.gz && man --where berth-apply || true'),
      ).toContain('berth-apply');
      machine.run('bash', '-n', '/usr/share/bash-completion/completions/berth');

      const url = `http://127.0.0.1:${await freePort('127.0.0.1')}`;
      const settings = `listen: ${url.slice('http://'.length)}\n`;
      writeFileSync(join(debian, 'etc/berth/berth.yaml'), settings);
      machine.run('systemctl', 'enable', '--now', 'berth-server');
      await eventually(
        'the control plane answers',
        () =>
          fetch(`${url}/readyz`).then(
            ({ status }) => status,
            () => 0,
          ),
        (status) => status === 200,
        PATIENCE_MS,
      );
      machine.run(
        'sh',
        '-c',
        `HOME=/root berth login --server ${url} --name here < /var/lib/berth/admin-token`,
      );
      const token = /berth_join_\S+/.exec(berth('node', 'token'))?.[0] ?? '';
      writeFileSync(join(debian, 'etc/berth/join-token'), token, { mode: 0o600 });
      writeFileSync(
        join(debian, 'etc/berth/agent.env'),
        `BERTH_AGENT_SERVER=${url}\nBERTH_AGENT_NAME=debian\nBERTH_AGENT_MESH=off\nBERTH_AGENT_JOIN_FILE=/etc/berth/join-token\n`,
      );
      machine.run('systemctl', 'enable', '--now', 'docker', 'berth-agent');
      const nodes = (): string => berth('get', 'nodes');
      await eventually('the node is ready', nodes, (text) => /debian +ready/.test(text), PATIENCE_MS);

      // Again: what runs is restarted, and what was edited stays.
      const processes = (): string =>
        machine.run('systemctl', 'show', '--property=MainPID', '--value', 'berth-server', 'berth-agent');
      const before = processes();
      installs();
      expect(processes()).not.toBe(before);
      expect(readFileSync(join(debian, 'etc/berth/berth.yaml'), 'utf8')).toBe(settings);
      await eventually('the node is ready', nodes, (text) => /debian +ready/.test(text), PATIENCE_MS);

      machine.run('dpkg', '--remove', 'berth');
      const exists = (path: string): boolean =>
        machine.run('sh', '-c', `test -e ${path} && echo yes || echo no`) === 'yes';
      expect(exists('/usr/bin/berth')).toBe(false);
      expect(machine.run('sh', '-c', 'systemctl is-active berth-server berth-agent || true')).not.toMatch(
        /^active/m,
      );
      const data = [
        '/var/lib/berth/admin-token',
        '/var/lib/berth-agent/identity.json',
        '/etc/berth/berth.yaml',
      ];
      expect(data.filter((path) => !exists(path))).toEqual([]);

      // A volume that is mounted is never taken away.
      machine.run('mkdir', '-p', '/var/lib/berth-agent/volumes/kept/mnt');
      machine.run('mount', '-t', 'tmpfs', 'none', '/var/lib/berth-agent/volumes/kept/mnt');
      machine.run('dpkg', '--purge', 'berth');
      expect(data.filter(exists)).toEqual(['/var/lib/berth-agent/identity.json']);
      installs();
      machine.run('umount', '/var/lib/berth-agent/volumes/kept/mnt');
      machine.run('dpkg', '--purge', 'berth');
      expect(['/var/lib/berth', '/var/lib/berth-agent', '/etc/berth'].filter(exists)).toEqual([]);
    },
    10 * PATIENCE_MS,
  );
});
