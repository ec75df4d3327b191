import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { meshRules } from '../../../src/agent/mesh/mesh-rules.ts';
import { anew, MESH_TABLES } from '../../../src/agent/mesh/rule-set.ts';
import type { MeshMap } from '../../../src/core/protocol/agent-protocol.ts';
import type { RouteReport } from '../../../src/agent/ingress/route.ts';
import { eventually } from '../eventually.ts';
import { ip, pidsIn, removeNamespace } from './engine-network.ts';
import type { Lan } from './lan.ts';

const AGENTS = join(import.meta.dirname, '../agents');
export const VIRTUAL = '10.211.0.1';

function inside(namespace: string, argv: readonly string[]): readonly [string, readonly string[]] {
  return ['/usr/bin/nsenter', [`--net=/run/netns/${namespace}`, '--', ...argv]];
}

export function caddyPidIn(namespace: string): number {
  return pidsIn(namespace, ['caddy'])[0] ?? 0;
}

/** Values that ingress nodes share, as the control plane keeps them. */
export type SharedFiles = Map<string, string>;

/**
 * A machine on a Lan with the agent's ingress, and instances behind a bridge as an engine makes it. Ways to other nodes are plain routes here.
 */
export class IngressNode {
  readonly name: string;
  readonly index: number;
  readonly namespace = `ing${randomBytes(4).toString('hex')}`;
  readonly address: string;
  readonly dataDir = mkdtempSync(join(tmpdir(), 'berth-ingress-'));
  readonly #shared: SharedFiles;
  readonly #instances: { readonly namespace: string; readonly child: ChildProcess }[] = [];
  #agent: ChildProcess | undefined;
  #map: MeshMap | undefined;
  routes: readonly RouteReport[] = [];
  log = '';

  constructor(lan: Lan, name: string, index: number, shared: SharedFiles) {
    this.name = name;
    this.index = index;
    this.#shared = shared;
    ip('netns', 'add', this.namespace);
    const { namespace } = this;
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    this.address = lan.attach({
      name: namespace,
      hostAddress: '',
      address: '',
      command: (argv) => inside(namespace, argv),
    });
    ip('-n', namespace, 'link', 'add', 'br0', 'address', `02:00:00:00:00:0${index + 1}`, 'type', 'bridge');
    ip('-n', namespace, 'addr', 'add', `${this.gateway}/24`, 'dev', 'br0');
    ip('-n', namespace, 'link', 'set', 'br0', 'up');
    ip('-n', namespace, 'route', 'add', '10.211.0.0/16', 'dev', 'br0', 'src', this.gateway);
    this.run(['/usr/sbin/sysctl', '-qw', 'net.ipv4.ip_forward=1']);
    // As Docker leaves a machine; what comes from other nodes is let through by the mesh.
    for (const rule of [
      '-N DOCKER-USER',
      '-A DOCKER-USER -s 10.210.0.0/16 -j ACCEPT',
      '-A FORWARD -j DOCKER-USER',
      '-P FORWARD DROP',
    ])
      this.run(['/usr/sbin/iptables', ...rule.split(' ')]);
  }

  get gateway(): string {
    return `10.210.${this.index}.1`;
  }

  /** The way to another node's containers. */
  joins(other: IngressNode): void {
    ip(
      '-n',
      this.namespace,
      'route',
      'add',
      `10.210.${other.index}.0/24`,
      'via',
      other.address,
      'src',
      this.gateway,
    );
  }

  run(argv: readonly string[]): string {
    const [command, args] = inside(this.namespace, argv);
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  async instance(name: string): Promise<string> {
    const at = this.#instances.length + 2;
    const address = `10.210.${this.index}.${at}`;
    const namespace = `${this.namespace}i${at}`;
    ip('netns', 'add', namespace);
    ip(
      '-n',
      this.namespace,
      'link',
      'add',
      `i${at}`,
      'type',
      'veth',
      'peer',
      'name',
      'eth0',
      'netns',
      namespace,
    );
    ip('-n', this.namespace, 'link', 'set', `i${at}`, 'master', 'br0', 'up');
    ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    for (const device of ['lo', 'eth0']) ip('-n', namespace, 'link', 'set', device, 'up');
    ip('-n', namespace, 'route', 'add', 'default', 'via', this.gateway);
    const [command, args] = inside(namespace, [process.execPath, join(AGENTS, 'echo-instance.ts'), name]);
    this.#instances.push({ namespace, child: spawn(command, args, { stdio: 'inherit' }) });
    await eventually(
      `${name} listens`,
      async () => this.#answers(address),
      (up) => up,
    );
    return address;
  }

  #answers(address: string): Promise<boolean> {
    const [command, args] = inside(this.namespace, ['curl', '-s', `http://${address}:8080/`]);
    return new Promise((resolve) => execFile(command, args, (error) => resolve(error === null)));
  }

  async startAgent(): Promise<void> {
    const program = [process.execPath, join(AGENTS, 'ingress-node.ts'), this.name, this.dataDir];
    const [command, args] = inside(this.namespace, program);
    const agent = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#agent = agent;
    this.routes = [];
    // oxlint-disable-next-line typescript/no-explicit-any
    agent.on('message', (told: any) => {
      if (told.routes !== undefined) this.routes = told.routes;
      if (told.line !== undefined) this.log += told.line;
      if (told.question !== undefined) agent.send({ answer: this.#answer(told.question) });
    });
    await once(agent, 'message');
    if (this.#map !== undefined) agent.send({ map: this.#map });
  }

  /** As the control plane asks for it: what was revoked, or why not. */
  async revoke(host: string): Promise<unknown> {
    const agent = this.#agent;
    if (agent === undefined) throw new Error('no agent');
    agent.send({ revoke: host });
    for (;;) {
      // oxlint-disable-next-line typescript/no-explicit-any
      const [told]: any = await once(agent, 'message');
      if (told.revoked !== undefined) return told.revoked;
    }
  }

  async killAgent(): Promise<void> {
    const gone = this.#agent && once(this.#agent, 'exit');
    this.#agent?.kill('SIGKILL');
    await gone;
  }

  /** As the control plane sends it; the virtual address leads to the instances from then on. */
  take(map: MeshMap): void {
    this.#map = map;
    const place = { bridge: { name: 'br0', mac: `02:00:00:00:00:0${this.index + 1}` } };
    const subnet = `10.210.${this.index}.0/24`;
    const addresses = { subnet, gateway: this.gateway, resolver: '10.211.255.254' };
    const rules = meshRules(map, { ...place, ...addresses, device: 'lan0' });
    this.run(['/usr/sbin/nft', anew(MESH_TABLES, rules)]);
    this.#agent?.send({ map });
  }

  /** As soon as the route of this host is in the state. */
  async reports(host: string, state: RouteReport['state'], withinMs?: number): Promise<RouteReport> {
    const find = () => Promise.resolve(this.routes.find((route) => route.host === host));
    const found = await eventually(
      `${host} is ${state} on ${this.name}`,
      find,
      (route) => route?.state === state,
      withinMs,
    );
    if (found === undefined) throw new Error(`${host} is not reported`);
    return found;
  }

  caddyPid(): number {
    return caddyPidIn(this.namespace);
  }

  async remove(): Promise<void> {
    await this.killAgent();
    for (const { child, namespace } of this.#instances) {
      child.kill('SIGKILL');
      removeNamespace(namespace);
    }
    removeNamespace(this.namespace);
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  #answer({ type, id, key, value }: any): object {
    if (type === 'ingressPut') this.#shared.set(key, value);
    const stored = this.#shared.get(key);
    return { type: 'ingressMaterial', id, ...(stored !== undefined && { value: stored, version: 1 }) };
  }
}
