import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterNode } from './cluster.ts';
import { ip, quietly } from './engine-network.ts';
import { endAllOf } from './engine-remains.ts';

const LOSETUP = '/usr/sbin/losetup';
const KEPT_LINKS = ['lo', 'eth0'];

/**
 * What a machine of a cluster loses with its power: every process (agent, watchdog, engine, containers), every mount and loop device, and of
 * its network all that is not set up at boot. What is on disk stays. `powerOn` starts its engine and agent again.
 */
export async function losePower(node: ClusterNode): Promise<void> {
  const { agent, engine } = node;
  // With the first of its processes a container ends; on Podman it has nothing to do with its engine.
  const containers = Object.values(await node.pids());
  await agent.kill9();
  await engine.kill9();
  for (const pid of containers) quietly(() => process.kill(pid, 'SIGKILL'));
  const { name } = engine.namespace ?? {};
  if (name === undefined) throw new Error('the engine has no network namespace of its own');
  for (const pid of ip('netns', 'pids', name).split('\n').filter(Boolean))
    quietly(() => process.kill(Number(pid), 'SIGKILL'));
  for (const folder of [engine.folder, agent.dataDir]) await endAllOf(folder);
  detachLoops(agent.dataDir);
  clearNetwork(name);
  // In memory on a machine.
  for (const part of ['exec', 'run', 'tmp', 'netns', 'p.sock'])
    rmSync(join(engine.folder, part), { recursive: true, force: true });
  // Of another boot.
  const leases = join(agent.dataDir, 'volumes/leases.json');
  if (existsSync(leases))
    writeFileSync(leases, readFileSync(leases, 'utf8').replace(/"boot":"[^"]*"/, '"boot":"another"'));
}

export async function powerOn({ agent, engine }: ClusterNode): Promise<void> {
  await engine.start();
  agent.launch();
}

function detachLoops(folder: string): void {
  const listed = execFileSync(LOSETUP, ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'], {
    encoding: 'utf8',
  });
  for (const line of listed.split('\n')) {
    const [device = '', file = ''] = line.trim().split(/\s+/);
    if (file.startsWith(`${folder}/`)) quietly(() => execFileSync(LOSETUP, ['--detach', device]));
  }
}

function clearNetwork(namespace: string): void {
  const links = ip('-n', namespace, '-o', 'link').split('\n');
  for (const line of links) {
    const link = /^\d+: ([^:@]+)/.exec(line)?.[1];
    if (link !== undefined && !KEPT_LINKS.includes(link))
      quietly(() => ip('-n', namespace, 'link', 'del', link));
  }
  execFileSync('/usr/sbin/ip', ['netns', 'exec', namespace, 'nft', 'flush', 'ruleset']);
}
