import { createGzip } from 'node:zlib';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { nodeNameOf } from '../../core/model/host-name.ts';
import { type Client, named } from '../client.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Step } from '../progress.ts';
import type { Node } from '../records.ts';
import type { Session } from '../session.ts';
import { spanText } from '../table.ts';
import { type Invitation, invite, withdraw } from './invitation.ts';
import { type Look, megabytes, obstacle, readLook } from './look.ts';
import {
  checkOrder,
  enrolOrder,
  type Joining,
  LOOK,
  type Order,
  orderLines,
  serviceOrder,
  switchOrder,
  unpackOrder,
  WHO,
  wordsOrder,
} from './orders.ts';
import type { Release } from './release.ts';
import type { Ssh } from './ssh.ts';
import type { Wish } from './wish.ts';

const LOOK_MS = 30_000;
/** 150 MB over a slow line. */
const SEND_MS = 20 * 60_000;
const ORDER_MS = 60_000;
/** The agent tries several times, with pauses that the control plane names. */
const ENROL_MS = 240_000;
const POLL_MS = 500;
const WORDS_MS = 4_000;
/** Certificates and tokens are good from a moment on. */
const SKEW_S = 30;

interface Machine {
  readonly session: Session;
  readonly client: Client;
  readonly ssh: Ssh;
  readonly look: Look;
  readonly release: Release;
  readonly wish: Wish;
  readonly name: string;
  /** The record of the node, where this control plane has one. */
  readonly known: Node | undefined;
}

/** Makes a machine a node. Each step looks at what is there already, so that a second run goes on where the first one ended. */
export async function addMachine(
  session: Session,
  client: Client,
  ssh: Ssh,
  release: Release,
  wish: Wish,
): Promise<ExitCode> {
  const look = await ticked(session, `Look at ${ssh.name}`, async (step) => {
    const seen = await lookAt(session, ssh);
    const problem = obstacle(ssh.name, seen, {
      architecture: release.architecture,
      bytes: seen.unpacked.includes(release.id) ? 0 : release.bytes,
      engine: wish.engine,
    });
    if (problem !== undefined) throw problem;
    step.done(lookText(seen));
    return seen;
  });
  if (Math.abs(look.aheadS) > SKEW_S)
    session.terminal.err(
      `  its clock is ${spanText(Math.abs(look.aheadS) * 1000)} ${look.aheadS > 0 ? 'ahead of' : 'behind'} the one here: certificates may not be good yet or any more. Set it: timedatectl set-ntp true\n`,
    );
  const name = look.node ?? wish.name ?? nodeNameOf(look.host);
  const known = await client.recordUnless(['node_not_found'], 'GET /api/v1/nodes/{name}', named(name));
  refuseOther(ssh.name, look, wish, name, known);
  const machine = { session, client, ssh, look, release, wish, name, known };
  if (wish.dryRun) return printPlan(machine);
  const fresh = await sendRelease(machine);
  const enrols = look.node === undefined || known === undefined || relabelled(known, wish);
  if (enrols) await enrolMachine(machine);
  else session.progress().step('Enrol').done(`already node ${name}`);
  const starts = enrols || fresh || !look.running;
  return awaitReady(machine, starts ? await startService(machine) : '');
}

async function lookAt(session: Session, ssh: Ssh): Promise<Look> {
  await ssh.connect();
  const who = await ssh.run(WHO, { timeoutMs: LOOK_MS });
  const sudo = who.out.includes('root=sudo');
  const seen = await ssh.run(LOOK, { timeoutMs: LOOK_MS, sudo });
  return readLook(`${who.out}\n${seen.out}`, session.now());
}

function lookText({ machine, systemd, sockets, root, host }: Look): string {
  const engine = sockets.some((socket) => socket.includes('docker')) ? 'Docker' : 'Podman';
  return [
    `${host}, Linux on ${machine}`,
    sockets.length === 0 ? 'engine as named' : engine,
    systemd ? 'systemd' : 'no systemd',
    root === 'sudo' ? 'root by sudo' : 'root',
  ].join(', ');
}

/** A machine that is somebody else's node, or is to get another name, is not taken over in silence. */
function refuseOther(
  destination: string,
  { node, server }: Look,
  wish: Wish,
  name: string,
  known: Node | undefined,
): void {
  if (node === undefined) return;
  if (wish.name !== undefined && wish.name !== node)
    throw new Failure(`${destination} is node ${node} already, not ${wish.name}`, {
      advice: [
        'A machine has one name. To give it another, delete the node and its folder there: rm -r /var/lib/berth-agent',
      ],
    });
  if (known === undefined && !wish.replace)
    throw new Failure(
      `${destination} is node ${name} of ${server ?? 'another control plane'}, which is not known here`,
      {
        advice: [
          'Is it the right tenant (--tenant) and context (--context)?',
          'To take it over, or when the node was deleted here: add --replace. Its containers are left running.',
        ],
      },
    );
}

function relabelled({ labels = {} }: Node, { labels: wished }: Wish): boolean {
  if (wished.length === 0) return false;
  const now = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  // Countries are kept in upper case.
  const alike = (list: readonly string[]): string => list.toSorted().join().toLowerCase();
  return alike(now) !== alike(wished);
}

async function sendRelease({ session, ssh, look, release }: Machine): Promise<boolean> {
  return ticked(session, `Install berth ${release.version}`, async (step) => {
    if (look.release === release.id && look.berth === 'ours') {
      step.done('it is there');
      return false;
    }
    if (!look.unpacked.includes(release.id)) {
      const input = counted(release, step);
      await ordered(
        machineRun(ssh, look, SEND_MS, Readable.from(input).pipe(createGzip({ level: 1 }))),
        unpackOrder(release.id),
      );
    }
    await ordered(machineRun(ssh, look, ORDER_MS), switchOrder(release.id));
    step.done(megabytes(release.bytes));
    return true;
  });
}

async function* counted({ archive, bytes: whole }: Release, step: Step): AsyncGenerator<Uint8Array> {
  let sent = 0;
  let told = 0;
  for await (const bytes of archive()) {
    sent += bytes.length;
    const quarters = Math.floor((sent / whole) * 4);
    if (quarters > told) {
      told = quarters;
      step.note(`${megabytes(sent)} of ${megabytes(whole)}`);
    }
    yield bytes;
  }
}

async function enrolMachine({ session, client, ssh, look, wish, name }: Machine): Promise<void> {
  const invitation = await invite(client, { name, wish, destination: ssh.name });
  try {
    const joining = joiningOf(invitation, wish, name);
    await ticked(session, 'Reach the control plane from there', async (step) => {
      const { out } = await ordered(machineRun(ssh, look, ORDER_MS), checkOrder(joining), [
        `Open the way from ${ssh.name} to ${invitation.server}, or name another address with --server URL.`,
      ]);
      step.done(out.trim().split('\n').join(', '));
    });
    await ticked(session, 'Enrol', async (step) => {
      await ordered(machineRun(ssh, look, ENROL_MS, invitation.token), enrolOrder(joining), [
        `Is ${name} another machine? Choose a name with --name, or, when that machine is lost, add --replace.`,
      ]);
      step.done(`node ${name}`);
    });
  } catch (error) {
    await withdraw(client, invitation);
    throw error;
  }
}

function joiningOf(
  { server, caDigest }: Pick<Invitation, 'server' | 'caDigest'>,
  wish: Wish,
  name: string,
): Joining {
  return { server, caDigest, name, labels: wish.labels, engine: wish.engine };
}

/** When the node was last seen before. */
async function startService({ session, client, ssh, look, name }: Machine): Promise<string> {
  return ticked(session, 'Start the agent', async (step) => {
    const before = await client.recordUnless(['node_not_found'], 'GET /api/v1/nodes/{name}', named(name));
    await ordered(machineRun(ssh, look, ORDER_MS), serviceOrder(look.systemd));
    step.done(
      look.systemd
        ? 'service berth-agent'
        : 'detached: without systemd it does not come back after a restart of the machine',
    );
    return textOf(before?.lastSeenAt);
  });
}

/** Until the control plane sees it, with the last word of the agent while it does not. */
async function awaitReady(
  { session, client, ssh, look, wish, name }: Machine,
  before: string,
): Promise<ExitCode> {
  const deadline = performance.now() + wish.timeoutMs;
  let words: readonly string[] = [];
  let asked = performance.now();
  await ticked(session, 'Wait until it is ready', async (step) => {
    for (;;) {
      const node = await client.recordUnless(['node_not_found'], 'GET /api/v1/nodes/{name}', named(name));
      const isBack = node !== undefined && textOf(node.lastSeenAt) !== before && !relabelled(node, wish);
      if (isBack && textOf(node.status) === 'ready') {
        step.done(readyText(node));
        return;
      }
      if (performance.now() - asked > WORDS_MS || performance.now() > deadline) {
        asked = performance.now();
        const said = await ssh.run(wordsOrder(look.systemd), {
          timeoutMs: LOOK_MS,
          sudo: look.root === 'sudo',
        });
        words = said.out.trim().split('\n');
        step.note((isBack ? textOf(node.reason) : '') || (words.at(-1) ?? ''));
      }
      if (performance.now() > deadline)
        throw new Failure(`${name} is not ready after ${spanText(wish.timeoutMs)}`, {
          exitCode: EXIT.notHealthy,
          advice: [
            'The agent said last:',
            ...words.map((line) => `  ${line}`),
            'Run the same line again to go on waiting.',
          ],
        });
      await pause(POLL_MS, undefined, { signal: session.interrupted });
    }
  });
  session.terminal.out(`node/${name} is ready\n`);
  session.terminal.err(`${session.next(`berth node show ${name}`)}\n`);
  return EXIT.ok;
}

function readyText({ engine, capacity, platform }: Node): string {
  return `${textOf(engine?.kind)} ${textOf(engine?.version)}, ${textOf(capacity?.cpu)} CPU, ${textOf(platform)}`;
}

function printPlan({ session, ssh, look, release, wish, name, known, client }: Machine): ExitCode {
  const { out, style } = session.terminal;
  const server = wish.server ?? client.target.server;
  const joining = joiningOf({ server, caDigest: undefined }, wish, name);
  const isCurrent = look.release === release.id && look.berth === 'ours';
  const enrols = look.node === undefined || known === undefined || relabelled(known, wish);
  const orders = [
    ...(isCurrent || look.unpacked.includes(release.id) ? [] : [unpackOrder(release.id)]),
    ...(isCurrent ? [] : [switchOrder(release.id)]),
    ...(enrols ? [checkOrder(joining), enrolOrder(joining)] : []),
    ...(enrols || !isCurrent || !look.running ? [serviceOrder(look.systemd)] : []),
  ];
  if (orders.length === 0) {
    out(`nothing would be done: ${ssh.name} is node ${name}\n`);
    return EXIT.ok;
  }
  out(`Nothing was changed. As root on ${ssh.name} this would be done:\n`);
  for (const [index, order] of orders.entries()) {
    const input = order.input === undefined ? '' : ` (standard input: ${order.input})`;
    out(`\n${style.bold(`${index + 1}. ${order.what}`)}${input}\n`);
    for (const line of orderLines(order)) out(`   ${line}\n`);
  }
  if (enrols)
    out(
      '\nWith TLS also --ca-digest, of the certificate that the control plane names with the join token.\n',
    );
  return EXIT.ok;
}

/** A line that is ticked, or crossed with the failure that ends the command. */
async function ticked<T>(session: Session, label: string, work: (step: Step) => Promise<T>): Promise<T> {
  const step = session.progress().step(label);
  try {
    return await work(step);
  } catch (error) {
    step.fail(session.interrupted.aborted ? 'interrupted; the same line goes on from here' : 'failed');
    throw error;
  }
}

type Run = (order: Order) => ReturnType<Ssh['run']>;

function machineRun(
  ssh: Ssh,
  { root }: Look,
  timeoutMs: number,
  input?: string | AsyncIterable<Uint8Array>,
): Run {
  return (order) =>
    ssh.run(order, { timeoutMs, sudo: root === 'sudo', ...(input === undefined ? {} : { input }) });
}

async function ordered(run: Run, order: Order, advice: readonly string[] = []) {
  const ended = await run(order);
  if (ended.status === 0) return ended;
  const said = (ended.err.trim() === '' ? ended.out : ended.err).trim().split('\n').slice(-12);
  const full = said.some((line) => line.includes('No space left')) ? ['Its disk is full: df -h there.'] : [];
  throw new Failure(`${order.what}: failed with status ${ended.status}`, {
    advice: [...said.map((line) => `  ${line}`), ...full, ...advice],
  });
}
