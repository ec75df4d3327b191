import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import type { TestEngine } from '../harness/engine.ts';
import { ip, isAlive } from '../harness/engine-network.ts';
import { Lan } from '../harness/lan.ts';
import { ensurePackages } from '../harness/packages.ts';

interface Neighbour {
  readonly name: string;
  readonly engine: TestEngine;
}

/**
 * Further machines of a page: each has an engine, a network and a host name of its own, and lets root in by SSH. The first machine of the house is
 * 172.30.0.1, these follow. Files are those of this machine, with a home and a data folder of the agent for each.
 */
export class Neighbours {
  readonly #lan = new Lan();
  readonly #home: string;
  readonly #servers: ChildProcess[] = [];
  readonly #engines: TestEngine[] = [];

  constructor(home: string, first: TestEngine) {
    ensurePackages([
      'openssh-client',
      'openssh-server',
      'wireguard-go',
      'wireguard-tools',
      'nftables',
      'caddy',
    ]);
    this.#home = home;
    if (first.namespace !== undefined) this.#lan.attach(first.namespace);
    mkdirSync(join(home, 'ssh'));
    for (const file of ['user', 'host'])
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', file, '-f', this.#file(file)]);
    const config = `IdentityFile ${this.#file('user')}\nUserKnownHostsFile ${this.#file('known')}\n`;
    writeFileSync(this.#file('config'), config);
    writeFileSync(this.#file('known'), '');
    // A person has both in ~/.ssh, which ssh looks for in the home that /etc/passwd has.
    const ssh = join(home, 'path/ssh');
    writeFileSync(ssh, `#!/bin/sh\nexec /usr/bin/ssh -F ${this.#file('config')} "$@"\n`);
    chmodSync(ssh, 0o755);
  }

  #file(name: string): string {
    return join(this.#home, 'ssh', name);
  }

  async add({ name, engine }: Neighbour, path: string): Promise<void> {
    const { namespace } = engine;
    if (namespace === undefined) throw new Error(`${name} has no network of its own`);
    const address = this.#lan.attach(namespace);
    const home = join(this.#home, name);
    mkdirSync(home);
    const variables = {
      PATH: path,
      HOME: home,
      DOCKER_HOST: `unix://${engine.socketPath}`,
      BERTH_AGENT_DATA_DIR: join(home, 'berth-agent'),
    };
    const settings = [
      `ListenAddress ${address}`,
      `HostKey ${this.#file('host')}`,
      `AuthorizedKeysFile ${this.#file('user.pub')}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      `SetEnv ${Object.entries(variables)
        .map(([key, value]) => `${key}=${value}`)
        .join(' ')}`,
    ];
    writeFileSync(this.#file(`${name}.conf`), `${settings.join('\n')}\n`);
    const known = `${address} ${readFileSync(this.#file('host.pub'), 'utf8')}`;
    writeFileSync(this.#file('known'), known, { flag: 'a' });
    mkdirSync('/run/sshd', { recursive: true });
    const server = `hostname ${name}; exec /usr/sbin/sshd -D -e -f ${this.#file(`${name}.conf`)}`;
    const [command, args] = namespace.command(['/usr/bin/unshare', '--uts', '/bin/sh', '-c', server]);
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#servers.push(child);
    this.#engines.push(engine);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await eventually(
      `${name} lets somebody in by SSH`,
      () => said,
      (text) => text.includes('Server listening'),
    );
  }

  /** What was started over SSH outlives its connection. */
  async stop(): Promise<void> {
    for (const server of this.#servers) server.kill();
    const pids = this.#engines
      .flatMap(({ namespace }) =>
        namespace === undefined ? [] : ip('netns', 'pids', namespace.name).split('\n'),
      )
      .map(Number)
      .filter((pid) => pid > 0 && environmentOf(pid).includes(`HOME=${this.#home}/`));
    for (const pid of pids) process.kill(pid);
    await eventually(
      'everything has ended that was started over SSH',
      () => pids.filter(isAlive),
      (left) => left.length === 0,
    );
    this.#lan.remove();
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}
