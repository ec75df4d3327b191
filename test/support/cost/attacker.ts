/** The attackers, in a process of their own: `fork` it, send it an `Orders`, and later anything: it answers with a `Tally` and ends. */
import { createPrivateKey } from 'node:crypto';
import { setPriority } from 'node:os';
import { Dice } from '../openapi-fuzz.ts';
import { HOSTILE_MESSAGES } from './hostile-messages.ts';
import { type HostileRequest, hostileRequests, type Who } from './hostile-requests.ts';
import { MANNERS, sendIn } from './manners.ts';
import { HostileConnection, type Tokens } from './send.ts';
import { Thief } from './thief.ts';

export interface Orders {
  readonly url: string;
  readonly tokens: Tokens;
  readonly nodes: readonly {
    readonly node: string;
    readonly token: string;
    readonly key: string;
    readonly publicKey: string;
  }[];
  readonly seed: number;
  /** Requests under way at a time. */
  readonly connections: number;
}

export interface Tally {
  /** By who sent, and in which manner. */
  readonly sent: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  readonly operations: number;
  readonly messages: number;
  readonly sessions: number;
  /** Of requests that were sent in the ordinary manner, and of messages. */
  readonly slowest: readonly { readonly label: string; readonly ms: number }[];
}

/** They stand for other machines: the control plane and the bystander are not to wait for this one's processor. */
setPriority(19);

const KEPT_SLOW = 15;
const IN_A_MANNER = 0.15;
/** A client that is told to wait waits, or the network stack of this machine is all that is measured. */
const LIMITED_MS = 25;
const STATUS_LIMITED = 429;
const WHO: readonly Who[] = ['stranger', 'viewer', 'deployer'];

const sent: Record<string, number> = {};
const statuses: Record<string, number> = {};
const slowest = new Map<string, number>();
let messages = 0;
let stopped = false;

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

function took(label: string, ms: number): void {
  slowest.set(label, Math.max(slowest.get(label) ?? 0, ms));
  if (slowest.size <= 10 * KEPT_SLOW) return;
  for (const [one] of [...slowest].toSorted((a, b) => a[1] - b[1]).slice(0, slowest.size - KEPT_SLOW))
    slowest.delete(one);
}

/** By operation, so that those with many fields are not drawn more often than the others. */
function grouped(document: unknown): readonly (readonly HostileRequest[])[] {
  const groups = Map.groupBy(hostileRequests(document), ({ label }) => label.split(' ', 2).join(' '));
  return [...groups.values()];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function ask(
  orders: Orders,
  groups: readonly (readonly HostileRequest[])[],
  seed: number,
): Promise<void> {
  const dice = new Dice(seed);
  const connection = new HostileConnection(orders.url, orders.tokens);
  while (!stopped) {
    const drawn = dice.pick(dice.pick(groups));
    const request = dice.chance(0.3) ? { ...drawn, who: dice.pick(WHO) } : drawn;
    if (dice.chance(IN_A_MANNER)) {
      const manner = dice.pick(MANNERS);
      count(sent, manner);
      await sendIn(manner, orders.url, request, orders.tokens, orders.nodes[0]?.token ?? '');
      continue;
    }
    count(sent, request.who);
    const { status, ms } = await connection.send(request);
    count(statuses, String(status));
    took(request.label, ms);
    if (status === STATUS_LIMITED) await pause(LIMITED_MS);
  }
  connection.close();
}

async function speak(thief: Thief, seed: number): Promise<void> {
  const dice = new Dice(seed);
  while (!stopped) {
    const message = dice.pick(HOSTILE_MESSAGES);
    const ms = await thief.say(message);
    messages += message.times;
    count(sent, 'node');
    if (ms !== undefined) took(`agent: ${message.label}`, ms);
    await pause(LIMITED_MS);
  }
  thief.close();
}

async function attack(orders: Orders): Promise<void> {
  const document: unknown = await (await fetch(`${orders.url}/openapi.json`)).json();
  const groups = grouped(document);
  const thieves = orders.nodes.map(
    ({ node, token, key, publicKey }) =>
      new Thief({ url: orders.url, node, token, key: { privateKey: createPrivateKey(key), publicKey } }),
  );
  const done = Promise.all([
    ...Array.from({ length: orders.connections }, (_, at) => ask(orders, groups, orders.seed + at)),
    ...thieves.map((thief, at) => speak(thief, orders.seed + 1000 + at)),
  ]);
  process.once('message', () => {
    stopped = true;
  });
  await done;
  const tally: Tally = {
    sent,
    statuses,
    operations: groups.length,
    messages,
    sessions: thieves.reduce((sum, { sessions }) => sum + sessions, 0),
    slowest: [...slowest]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, KEPT_SLOW)
      .map(([label, ms]) => ({ label, ms: Math.round(ms) })),
  };
  process.send?.(tally, () => process.disconnect());
}

process.once('message', (orders: Orders) => void attack(orders));
// Whoever started it is gone, perhaps killed.
process.once('disconnect', () => process.exit());
