/**
 * A machine that systemd boots with Docker and sshd in a network of its own, as somebody gets it from a provider: nothing of Berth on it.
 *
 *     const machine = await bootSshMachine('berlin');
 *     execFileSync('ssh', [...machine.sshOptions, `root@${machine.address}`, 'true']);
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BootedMachine, bootMachine } from './booted-machine.ts';
import { addNamespace, releaseSubnet, removeNamespace, reserveSubnet } from './engine-network.ts';
import { ensurePackages } from './packages.ts';

export interface SshMachine extends BootedMachine {
  readonly address: string;
  /** Of the tests, as the machine sees it. */
  readonly hostAddress: string;
  /** The private key that is let in as root. */
  readonly key: string;
  /** Holds its host key. */
  readonly knownHosts: string;
}

const SSHD = `Port 22
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
`;

export async function bootSshMachine(
  name: string,
  files: Readonly<Record<string, string>> = {},
): Promise<SshMachine> {
  ensurePackages(['openssh-client', 'openssh-server', 'iproute2']);
  const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-keys-'));
  const keyPair = (file: string): readonly [string, string] => {
    const path = join(folder, file);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', file, '-f', path]);
    return [readFileSync(path, 'utf8'), readFileSync(`${path}.pub`, 'utf8')];
  };
  const [, userPublic] = keyPair('user');
  const [hostKey, hostPublic] = keyPair('host');
  const subnet = reserveSubnet();
  const network = `be${randomBytes(5).toString('hex')}`;
  const { address, hostAddress } = addNamespace(network, subnet);
  const knownHosts = join(folder, 'known_hosts');
  writeFileSync(knownHosts, `${address} ${hostPublic}`);
  const drop = (): void => {
    removeNamespace(network);
    releaseSubnet(subnet);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const machine = await bootMachine({
      name,
      bare: true,
      namespace: network,
      files: {
        '/etc/passwd': 'root:x:0:0::/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n',
        '/etc/ssh/sshd_config': SSHD,
        '/etc/ssh/ssh_host_ed25519_key': hostKey,
        '/etc/ssh/authorized_keys': userPublic,
        '/etc/default/docker': 'DOCKER_OPTS="--bridge=none --iptables=false"\n',
        // One network of a machine's own: other tests have it here.
        '/etc/berth/agent.env': 'BERTH_AGENT_MESH=off\n',
        ...files,
      },
    });
    machine.run('chmod', '0600', '/etc/ssh/ssh_host_ed25519_key');
    machine.run('chmod', '0700', '/root');
    machine.run('systemctl', 'start', 'docker', 'ssh');
    return {
      ...machine,
      address,
      hostAddress,
      key: join(folder, 'user'),
      knownHosts,
      end: async () => {
        await machine.end();
        drop();
      },
    };
  } catch (error) {
    drop();
    throw error;
  }
}
