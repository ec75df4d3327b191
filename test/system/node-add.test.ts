import { execFile, execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LONG_TIER } from '../support/fault-tier.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { BOOTSTRAP, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { BERTH, Program } from '../support/harness/program.ts';
import { bootSshMachine, type SshMachine } from '../support/harness/ssh-machine.ts';

const PATIENCE_MS = 120_000;

interface Ended {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Looks at the arguments of every process, of the machine too, again and again. */
class CommandLines {
  readonly #found = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(text: string) {
    this.#timer = setInterval(() => {
      for (const pid of readdirSync('/proc')) {
        if (!/^\d+$/.test(pid)) continue;
        const line = readIfThere(`/proc/${pid}/cmdline`);
        if (line.includes(text)) this.#found.add(line.replaceAll('\0', ' '));
      }
    }, 20);
  }

  end(): readonly string[] {
    clearInterval(this.#timer);
    return [...this.#found];
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A machine as it comes from a provider, and a control plane that it reaches by TLS. */
describe('berth node add', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-node-add-'));
  let machine: SshMachine;
  let plane: ControlPlane;

  beforeAll(async () => {
    machine = await bootSshMachine('berlin');
    const { cert, key } = selfSigned([`IP:${machine.hostAddress}`]);
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    const tls = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')];
    plane = await startControlPlane(['--listen', `${machine.hostAddress}:0`, ...tls]);
  }, PATIENCE_MS);

  afterAll(async () => {
    await plane.close();
    await machine.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const environment = (): Record<string, string> => ({
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    NO_COLOR: '1',
    NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'),
    BERTH_CLI_SERVER: plane.url,
    BERTH_CLI_TOKEN: BOOTSTRAP,
  });

  function berth(args: readonly string[], extra: Readonly<Record<string, string>> = {}): Promise<Ended> {
    return new Promise((resolve) => {
      execFile(BERTH, args, { env: { ...environment(), ...extra }, encoding: 'utf8' }, (error, out, err) =>
        resolve({ status: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  }

  const known = (): string[] => ['--ssh-option', `UserKnownHostsFile=${machine.knownHosts}`];
  const words = (): string[] => ['node', 'add', `root@${machine.address}`, '-i', machine.key, ...known()];
  const add = (...more: readonly string[]): Promise<Ended> => berth([...words(), ...more]);

  /** Everything below these folders of the machine. */
  function mentions(text: string, ...folders: readonly string[]): string {
    return machine.run('sh', '-c', `grep -rlF ${text} ${folders.join(' ')} 2>/dev/null || true`);
  }

  /** What the program itself needs, and no ssh. */
  function withoutSsh(): string {
    const path = join(folder, 'path');
    mkdirSync(path);
    for (const name of ['sh', 'uname', 'dirname', 'readlink', 'find', 'node'])
      symlinkSync(
        execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(),
        join(path, name),
      );
    return path;
  }

  const nodes = async (): Promise<string> => (await berth(['get', 'nodes', '-o', 'name'])).out;
  const onMachine = (): string =>
    machine.run('sh', '-c', 'ls /opt /usr/local/bin /var/lib | sort | tr "\\n" " "');

  it('says what is wrong with the way there', async () => {
    const to = `root@${machine.address}`;
    const stranger = join(folder, 'stranger');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', stranger]);
    const unknown = ['--ssh-option', `UserKnownHostsFile=${join(folder, 'none')}`];
    const ended = await Promise.all([
      berth(['node', 'add', to, '-i', machine.key, ...unknown]),
      berth(['node', 'add', to, '-i', stranger, '--ssh-option', 'IdentitiesOnly=yes', ...known()]),
      berth(['node', 'add', to, '-p', '1', ...known()]),
      berth(['node', 'add', 'root@nowhere.invalid']),
      berth(['node', 'add', to], { PATH: withoutSsh() }),
    ]);
    const expected = [
      'its host key is not known here',
      'it lets nobody in with these keys',
      'nothing listens on the port of SSH there',
      'its name has no address',
      'ssh is not installed on this machine',
    ];
    for (const [index, why] of expected.entries()) {
      expect(ended[index]).toMatchObject({ status: 1, out: '', err: expect.stringContaining(why) });
    }
    expect(await nodes()).toBe('');
  });

  it('shows what it would do, and does nothing', async () => {
    const before = onMachine();
    const { status, out } = await add('--dry-run', '--label', 'disk=ssd');
    expect(status).toBe(0);
    for (const part of [
      'tar -xzf -',
      'agent --check',
      '--enrol --join-file -',
      "'disk=ssd'",
      'systemctl restart',
    ])
      expect(out).toContain(part);
    expect(out).not.toContain('berth_join_');
    expect(onMachine()).toBe(before);
    expect(await nodes()).toBe('');
    expect((await berth(['get', 'join-tokens', '-o', 'name'])).out).toBe('');
  });

  it.runIf(LONG_TIER)(
    'goes on after a Ctrl-C and after a way back that is blocked, until the node is ready',
    async () => {
      const cut = new Program([BERTH, ...words()], environment());
      await cut.until('a part of the release was sent', 60_000, () =>
        cut.said.includes('MB of') ? true : undefined,
      );
      expect(await cut.end('SIGINT')).toBe(130);
      expect(machine.run('sh', '-c', 'ls /opt/berth/releases')).toMatch(/^\S+\.part$/);

      const blocked = await add('--server', `https://${machine.hostAddress}:1`);
      expect(blocked.status).toBe(1);
      expect(blocked.err).toContain(`https://${machine.hostAddress}:1 cannot be reached`);
      expect(blocked.err).toContain('Open the way from');
      expect(await nodes()).toBe('');
      expect((await berth(['get', 'join-tokens', '-o', 'name'])).out).toBe('');

      const watch = new CommandLines('berth_join_');
      const first = await add('--label', 'disk=ssd');
      expect(watch.end()).toEqual([]);
      process.stdout.write(first.err);
      expect(first).toMatchObject({ status: 0, out: 'node/berlin is ready\n' });
      expect(first.err).toContain('✔ Install berth 0.1.0: it is there');
      expect(machine.run('systemctl', 'is-enabled', 'berth-agent')).toBe('enabled');
      expect(mentions('berth_join_', '/etc', '/var', '/root', '/run', '/tmp')).toBe('');
      expect(machine.journal('berth-agent')).not.toContain('berth_join_');
      expect(machine.run('sh', '-c', 'cat /var/lib/berth-agent/identity.json')).toContain('"caDigest"');
    },
    PATIENCE_MS,
  );

  it(
    'does nothing more to a node, but changes its labels',
    async () => {
      const pid = (): string => machine.run('systemctl', 'show', '--property=MainPID', 'berth-agent');
      // Whether or not the case before it ran.
      expect(await add()).toMatchObject({ status: 0 });
      const before = pid();
      const again = await add();
      expect(again).toMatchObject({ status: 0, out: 'node/berlin is ready\n' });
      expect(again.err).toContain('✔ Enrol: already node berlin');
      expect(pid()).toBe(before);
      expect((await add('--dry-run')).out).toMatch(/^nothing would be done: /);
      const other = await add('--name', 'elsewhere');
      expect(other).toMatchObject({ status: 1, err: expect.stringContaining('is node berlin already') });

      expect(await add('--label', 'disk=hdd', '--label', 'rack=2')).toMatchObject({ status: 0 });
      const { out } = await berth(['get', 'nodes', '-o', 'json']);
      expect(JSON.parse(out)).toMatchObject([{ name: 'berlin', labels: { disk: 'hdd', rack: '2' } }]);
    },
    PATIENCE_MS,
  );
});
