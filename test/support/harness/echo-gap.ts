import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

type Inside = (argv: readonly string[]) => readonly [command: string, args: readonly string[]];

const EVERY_MS = 10;
const ECHO = `const s = require('node:dgram').createSocket('udp4');
  s.on('message', (data, from) => s.send(data, from.port, from.address, () => {}));
  s.on('error', () => {});
  s.bind(Number(process.argv[2]), process.argv[1], () => console.log('up'));`;
/** A number every 10 ms; at the end, how many came back and the longest time without any. */
const ASK = `const s = require('node:dgram').createSocket('udp4');
  let sent = 0, last = 0, longest = 0; const seen = new Set();
  s.on('error', () => {});
  s.on('message', (data) => {
    const now = performance.now();
    if (last > 0) longest = Math.max(longest, now - last); else console.log('up');
    last = now; seen.add(data.toString());
  });
  const timer = setInterval(() => s.send(String(sent++), Number(process.argv[2]), process.argv[1], () => {}), ${EVERY_MS});
  process.stdin.on('data', () => { clearInterval(timer); setTimeout(() => {
    console.log(JSON.stringify({ sent, lost: sent - seen.size, longestMs: Math.round(longest) })); process.exit(0);
  }, 1000); });`;

export interface EchoGap {
  readonly sent: number;
  readonly lost: number;
  readonly longestMs: number;
}

async function started(inside: Inside, program: string, at: readonly string[]): Promise<ChildProcess> {
  const [command, args] = inside([process.execPath, '-e', program, ...at]);
  const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

/** What datagrams from one machine to an address of another, and back, notice of what happens meanwhile. */
export async function echoGap(
  from: Inside,
  to: Inside,
  address: string,
  meanwhile: () => Promise<void>,
): Promise<EchoGap> {
  const at = [address, '9999'];
  const echo = await started(to, ECHO, at);
  const asking = await started(from, ASK, at);
  try {
    await meanwhile();
    const told = asking.stdout === null ? [] : once(asking.stdout, 'data');
    asking.stdin?.write('end\n');
    const [text] = await told;
    return JSON.parse(String(text)) as EchoGap;
  } finally {
    for (const child of [echo, asking]) child.kill('SIGKILL');
  }
}
