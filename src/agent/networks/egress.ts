import { messageOf } from '../../core/model/values.ts';
import { type Log } from '../log.ts';
import { type Program, run } from '../volumes/program.ts';

/** Where clouds hand out credentials of the machine to any process that can reach them; with port 53 some of them are its resolver. */
const METADATA = {
  ip: ['169.254.169.254', '169.254.170.2', '169.254.170.23', '100.100.100.200', '192.0.0.192'],
  ip6: ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
} as const;
/** Bridges of networks that engines make: Docker's, Podman's, and Podman's with CNI. The machine's own traffic has none of them. */
const BRIDGES = ['br-', 'podman', 'cni-podman'] as const;

const NFT_TABLE = 'inet berth-egress';
const IPTABLES_CHAIN = 'BERTH-EGRESS';
const AGAIN_MS = 60_000;

/** Whole in one transaction: made if it is not there, then replaced. Nothing else of the machine's rules is named. */
const NFT_GONE = `table ${NFT_TABLE}\ndelete table ${NFT_TABLE}\n`;
/** Before addresses are translated: what some agents of clouds turn into an address of the machine is still recognised. */
const NFT_BLOCKED = `${NFT_GONE}table ${NFT_TABLE} {
  chain metadata {
    meta l4proto { tcp, udp } th dport 53 return
    ip daddr { ${METADATA.ip.join(', ')} } drop
    ip6 daddr { ${METADATA.ip6.join(', ')} } drop
  }
  chain prerouting {
    type filter hook prerouting priority -310; policy accept;
${BRIDGES.map((bridge) => `    iifname "${bridge}*" jump metadata\n`).join('')}  }
}
`;

async function nft(script: string): Promise<void> {
  await run('nft', [script]);
}

async function withIptables(program: Program, addresses: readonly string[], blocked: boolean): Promise<void> {
  const raw = (...args: string[]): Promise<string> => run(program, ['-w', '5', '-t', 'raw', ...args]);
  const quietly = (...args: string[]): Promise<boolean> =>
    raw(...args).then(
      () => true,
      () => false,
    );
  const jump = (bridge: string): string[] => ['PREROUTING', '-i', `${bridge}+`, '-j', IPTABLES_CHAIN];
  if (!blocked) {
    for (const bridge of BRIDGES) while (await quietly('-D', ...jump(bridge)));
    await quietly('-F', IPTABLES_CHAIN);
    await quietly('-X', IPTABLES_CHAIN);
    return;
  }
  if (await quietly('-N', IPTABLES_CHAIN)) {
    for (const protocol of ['udp', 'tcp'])
      await raw('-A', IPTABLES_CHAIN, '-p', protocol, '--dport', '53', '-j', 'RETURN');
  }
  for (const address of addresses) {
    const rule = [IPTABLES_CHAIN, '-d', address, '-j', 'DROP'];
    if (!(await quietly('-C', ...rule))) await raw('-A', ...rule);
  }
  for (const bridge of BRIDGES) if (!(await quietly('-C', ...jump(bridge)))) await raw('-I', ...jump(bridge));
}

async function allow(): Promise<void> {
  // Where they were never made there is nothing to take away; an earlier start may have had another of the two.
  await nft(NFT_GONE).catch(() => {});
  await withIptables('iptables', METADATA.ip, false);
  await withIptables('ip6tables', METADATA.ip6, false);
}

/** By nftables, else by iptables. If both fail, both reasons are reported. */
async function block(): Promise<void> {
  const first = await nft(NFT_BLOCKED).then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  if (first === undefined) return;
  try {
    await withIptables('iptables', METADATA.ip, true);
    await withIptables('ip6tables', METADATA.ip6, true);
  } catch (error) {
    throw new Error(`${first}; ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Keeps containers from the metadata addresses of clouds, unless that is allowed. The rules stay when the agent ends, as containers
 * do; another program may flush them, so they are set again once a minute.
 */
export class Egress {
  readonly #allowed: boolean;
  readonly #log: Log;
  #problem: string | undefined;

  constructor(allowed: boolean, log: Log) {
    this.#allowed = allowed;
    this.#log = log;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#allowed) return await allow();
    await this.#set();
    const again = setInterval(() => void this.#set(), AGAIN_MS).unref();
    signal.addEventListener('abort', () => clearInterval(again), { once: true });
  }

  async #set(): Promise<void> {
    try {
      await block();
      this.#problem = undefined;
    } catch (error) {
      const problem = `containers can reach the metadata addresses of clouds: no rule could be set (${messageOf(error)}); install nftables, run the agent as root with CAP_NET_ADMIN, or allow it with --metadata allowed`;
      if (problem !== this.#problem) this.#log.warn(problem);
      this.#problem = problem;
    }
  }
}
