import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { ip, removeNamespace, type TestNamespace } from './engine-network.ts';

const NETWORK = '172.30.0';
const OUTSIDE = '172.30.0.250';

/**
 * What lies between the machines of a test: a switch of its own, in a namespace of its own. The way to the control plane is
 * another one (`eth0`), and carries nothing else between machines.
 *
 *     const lan = new Lan();
 *     lan.attach(one);                 // 172.30.0.1
 *     lan.attachBehindNat(two);        // reaches the others, is reached by none
 *     lan.cut(one, two);               // no UDP passes between them
 *     lan.heal(one, two);              // heal() heals everything
 *     lan.remove();
 */
export class Lan {
  readonly #name = `lan${randomBytes(4).toString('hex')}`;
  readonly #routers: string[] = [];
  readonly #addresses = new Map<string, string>();
  readonly #cuts = new Set<string>();

  constructor() {
    ip('netns', 'add', this.#name);
    ip('-n', this.#name, 'link', 'add', 'name', 'switch', 'type', 'bridge');
    ip('-n', this.#name, 'link', 'set', 'switch', 'up');
    this.heal();
  }

  get name(): string {
    return this.#name;
  }

  addressOf(namespace: TestNamespace): string {
    const address = this.#addresses.get(namespace.name);
    if (address === undefined) throw new Error(`${namespace.name} is not on the network`);
    return address;
  }

  /** Returns the address by which the others reach it. */
  attach(namespace: TestNamespace): string {
    const address = `${NETWORK}.${this.#addresses.size + 1}`;
    this.#plug(namespace.name, 'lan0', address);
    keepApart(namespace.name);
    this.#addresses.set(namespace.name, address);
    return address;
  }

  /** Behind a router that translates: the others see the router's address, and reach nothing behind it first. */
  attachBehindNat(namespace: TestNamespace): void {
    const router = `${this.#name}r${this.#routers.length}`;
    this.#routers.push(router);
    ip('netns', 'add', router);
    ip('-n', router, 'link', 'set', 'lo', 'up');
    const address = `${NETWORK}.${100 + this.#routers.length}`;
    this.#plug(router, 'lan0', address);
    ip(
      '-n',
      router,
      'link',
      'add',
      'inside',
      'type',
      'veth',
      'peer',
      'name',
      'lan0',
      'netns',
      namespace.name,
    );
    ip('-n', router, 'addr', 'add', '192.168.77.1/24', 'dev', 'inside');
    ip('-n', router, 'link', 'set', 'inside', 'up');
    ip('-n', namespace.name, 'addr', 'add', '192.168.77.2/24', 'dev', 'lan0');
    ip('-n', namespace.name, 'link', 'set', 'lan0', 'up');
    ip('-n', namespace.name, 'route', 'add', `${NETWORK}.0/24`, 'via', '192.168.77.1');
    inside(router, ['/usr/sbin/sysctl', '-qw', 'net.ipv4.ip_forward=1']);
    rules(
      router,
      `table ip nat {
      chain out { type nat hook postrouting priority 100; oifname "lan0" masquerade; }
    }
    table ip filter {
      chain forward { type filter hook forward priority 0; iifname "lan0" ct state new drop; }
    }`,
    );
    keepApart(namespace.name);
    this.#addresses.set(namespace.name, address);
  }

  /** UDP between the two, in both directions; without a second, between the first and everybody. */
  cut(one: TestNamespace, other?: TestNamespace): void {
    this.#cuts.add(this.#between(one, other));
    this.#apply();
  }

  /** What was cut between these, as it was cut; without any, everything. */
  heal(one?: TestNamespace, other?: TestNamespace): void {
    if (one === undefined) this.#cuts.clear();
    else this.#cuts.delete(this.#between(one, other));
    this.#apply();
  }

  #between(one: TestNamespace, other?: TestNamespace): string {
    const [a, b] = [this.addressOf(one), other && this.addressOf(other)];
    const pairs =
      b === undefined
        ? [`ip saddr ${a}`, `ip daddr ${a}`]
        : [`ip saddr ${a} ip daddr ${b}`, `ip saddr ${b} ip daddr ${a}`];
    return pairs.map((pair) => `${pair} ip protocol udp drop;`).join(' ');
  }

  /** At once: what stays cut lets nothing through meanwhile. */
  #apply(): void {
    rules(
      this.#name,
      `table bridge lan
      delete table bridge lan
      table bridge lan {
        chain passing { type filter hook forward priority 0; policy accept; ${[...this.#cuts].join(' ')} }
      }`,
    );
  }

  /** A machine that is no node: a client on the network. The command and its arguments run `argv` there. */
  outside(argv: readonly string[]): readonly [command: string, args: readonly string[]] {
    if (!this.#addresses.has(OUTSIDE)) {
      ip('-n', this.#name, 'addr', 'add', `${OUTSIDE}/24`, 'dev', 'switch');
      ip('-n', this.#name, 'link', 'set', 'lo', 'up');
      this.#addresses.set(OUTSIDE, OUTSIDE);
    }
    return ['/usr/bin/nsenter', [`--net=/run/netns/${this.#name}`, '--', ...argv]];
  }

  remove(): void {
    for (const router of this.#routers) removeNamespace(router);
    removeNamespace(this.#name);
  }

  #plug(namespace: string, device: string, address: string): void {
    const port = `p${address.split('.')[3]}`;
    ip('-n', this.#name, 'link', 'add', port, 'type', 'veth', 'peer', 'name', device, 'netns', namespace);
    ip('-n', this.#name, 'link', 'set', port, 'master', 'switch', 'up');
    ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', device);
    ip('-n', namespace, 'link', 'set', device, 'up');
  }
}

/** Over the machine of the tests no other node is reached; and a firewall passes on nothing that nobody asked it to, as Docker sets it up. */
function keepApart(namespace: string): void {
  rules(
    namespace,
    `table ip apart {
    chain leaving { type filter hook output priority 0; oifname "eth0" ip protocol udp drop; }
  }`,
  );
  inside(namespace, ['/usr/sbin/iptables', '-w', '-P', 'FORWARD', 'DROP']);
}

function inside(namespace: string, argv: readonly string[], input = ''): void {
  execFileSync('/usr/bin/nsenter', [`--net=/run/netns/${namespace}`, '--', ...argv], {
    input,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
}

function rules(namespace: string, text: string): void {
  inside(namespace, ['/usr/sbin/nft', '-f', '-'], text);
}
