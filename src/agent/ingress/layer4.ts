import { readFile } from 'node:fs/promises';
import { portRangesText, portsOutside } from '../../core/model/port-ranges.ts';
import type { MeshMap } from '../../core/protocol/agent-protocol.ts';
import { choiceOf, withShare } from '../mesh/choice.ts';
import { letThrough } from '../mesh/let-through.ts';
import { RuleSet, type Tables } from '../mesh/rule-set.ts';
import type { IngressRoute } from './route.ts';

export const LAYER4_TABLES: Tables = { name: 'berth-ingress', families: ['ip'] };

export interface Layer4Place {
  /** Of the tenant's nodes, and of virtual addresses. */
  readonly prefix: string;
  readonly virtualPrefix: string;
  /** As which this node is known to containers of all nodes. */
  readonly gateway: string;
}

export type Layer4Route = IngressRoute & { readonly protocol: 'tcp' | 'udp'; readonly listen: number };

export function isLayer4(route: IngressRoute): route is Layer4Route {
  return route.protocol !== 'http' && route.listen !== undefined;
}

/**
 * Connections to ports of this machine are given to instances, by a table of its own. Not by way of the
 * virtual address: the kernel translates a destination once. The source is the gateway, which every node has a way back to.
 *
 * A virtual address that has no instance is not refused to Caddy: the kernel asks again, and the request goes on when there is one. A
 * refusal would be the end of requests with a body, which Caddy has given away by then.
 */
export function layer4Rules(
  routes: readonly Layer4Route[],
  services: MeshMap['services'],
  { prefix, virtualPrefix, gateway }: Layer4Place,
): string {
  const served = routes.flatMap((route) => {
    const instances = services.find(({ address }) => address === route.address)?.instances ?? [];
    return withShare(instances).length === 0 ? [] : [{ ...route, instances }];
  });
  const arriving = served.map(
    ({ protocol, listen, port, instances }) =>
      `    fib daddr type local ${protocol} dport ${listen} dnat ip to ${target(instances, port)}\n`,
  );
  const sources = served.map(
    ({ protocol, listen }) =>
      `    meta l4proto ${protocol} ct original proto-dst ${listen} ct status dnat ip daddr ${prefix} snat to ${gateway}\n`,
  );
  return `table ip ${LAYER4_TABLES.name} {
  chain arriving {
    type nat hook prerouting priority -115; policy accept;
${arriving.join('')}  }
  chain sources {
    type nat hook postrouting priority 80; policy accept;
${sources.join('')}  }
  chain awaited {
    type filter hook output priority -5; policy accept;
    ip daddr ${virtualPrefix} tcp flags syn drop
  }
}
`;
}

function target(instances: MeshMap['services'][number]['instances'], port: number): string {
  return withShare(instances).length === 1
    ? choiceOf(instances, ({ address }) => `${address}:${port}`)
    : choiceOf(instances, ({ address }) => `${address} . ${port}`);
}

/** Why this machine cannot give a port to a route. */
export function portProblem(
  { protocol, listen }: Layer4Route,
  taken: ReadonlySet<string>,
  allowed: readonly string[] | undefined,
): string | undefined {
  if (portsOutside([listen], allowed).length > 0)
    return `port ${listen} is not among those that workloads may name on this node (--host-ports): ${portRangesText(allowed)}`;
  if (taken.has(`${protocol}/${listen}`))
    return `${protocol} port ${listen} is in use on this node: end what listens there, or choose another \`listen\``;
  return undefined;
}

const LISTENS = '0A';

/** Ports that a process of this machine listens on, as `tcp/443`. */
export async function portsInUse(): Promise<ReadonlySet<string>> {
  const found = await Promise.all(
    ['tcp', 'tcp6', 'udp', 'udp6'].map(async (table) => {
      const lines = (await readFile(`/proc/net/${table}`, 'utf8').catch(() => '')).split('\n').slice(1);
      return lines.flatMap((line) => listener(line, table.startsWith('tcp') ? 'tcp' : 'udp'));
    }),
  );
  return new Set(found.flat());
}

/** Of a line of `/proc/net/tcp`: `  0: 0100007F:1F90 00000000:0000 0A …`. */
export function listener(line: string, protocol: 'tcp' | 'udp'): readonly string[] {
  const [, local = '', remote = '', state] = line.trim().split(/\s+/);
  const port = Number.parseInt(local.split(':')[1] ?? '', 16);
  if (!Number.isInteger(port)) return [];
  // One that is connected to somebody takes from nobody else.
  const open = protocol === 'tcp' ? state === LISTENS : remote.endsWith(':0000');
  return open ? [`${protocol}/${port}`] : [];
}

/** Ports of this machine that belong to deployments. */
export class Layer4 {
  readonly #hostPorts: readonly string[] | undefined;
  readonly #rules = new RuleSet(LAYER4_TABLES);
  #problems: ReadonlyMap<string, string> = new Map();

  constructor(hostPorts: readonly string[] | undefined) {
    this.#hostPorts = hostPorts;
  }

  /** By protocol and port, as `tcp/5432`. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  async ensure(
    { ingress = [], services, prefix, virtualPrefix }: MeshMap,
    gateway: string | undefined,
  ): Promise<void> {
    const routes = ingress.filter(isLayer4);
    if (gateway === undefined || (ingress.length === 0 && !(await this.#rules.isThere()))) return;
    const taken = await portsInUse();
    const free = (route: Layer4Route): boolean => portProblem(route, taken, this.#hostPorts) === undefined;
    this.#problems = new Map(
      routes.flatMap((route) => {
        const problem = portProblem(route, taken, this.#hostPorts);
        return problem === undefined ? [] : [[`${route.protocol}/${route.listen}`, problem]];
      }),
    );
    // Translated is only what is ours.
    if (routes.length > 0)
      await letThrough(...['-d', '-s'].map((way) => [way, prefix, '-m', 'conntrack', '--ctstate', 'DNAT']));
    await this.#rules.ensure(layer4Rules(routes.filter(free), services, { prefix, virtualPrefix, gateway }));
  }
}
