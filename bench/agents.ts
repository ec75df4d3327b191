import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { type Challenge, PROTOCOL_VERSION, signedText } from '../src/core/contract/agent-protocol.ts';
import { cpuSeconds, rssMiB } from './support/process-cost.ts';

/**
 * Connected agents that report every heartbeat, against a control plane in a process of its own on loopback: its memory and
 * its share of a core. Each agent holds one descriptor in each process. Usage: node bench/agents.ts [agents] [seconds]
 */
const agents = Number(process.argv[2] ?? 2000);
const seconds = Number(process.argv[3] ?? 20);
const BOOTSTRAP = 'bootstrap-token-of-the-bench-0123456789';
const PARALLEL = 32;
const STOP_DEADLINE_MS = 20_000;

const facts = {
  agentVersion: '0.1.0',
  engine: { kind: 'docker', version: '20.10.24' },
  platform: 'linux/amd64',
  capacity: { cpu: 4, memoryBytes: 8 * 2 ** 30 },
  labels: { disk: 'ssd' },
};

async function startProcess(
  dataDir: string,
): Promise<{ readonly pid: number; readonly url: string; stop(): Promise<number> }> {
  const child = spawn(
    process.execPath,
    ['src/server/main.ts', '--data-dir', dataDir, '--listen', '127.0.0.1:0', '--log-level', 'info'],
    {
      env: {
        PATH: process.env['PATH'],
        BERTH_BOOTSTRAP_TOKEN: BOOTSTRAP,
        BERTH_AGENTS_SESSIONS_PER_SECOND: '10000',
        BERTH_RATE_LIMIT_PER_SECOND: '100000',
        BERTH_RATE_LIMIT_BURST: '100000',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.once('exit', () => reject(new Error('the control plane ended')));
    child.stdout.on('data', (part: Buffer) => {
      if (text.length > 100_000) return;
      text += part.toString();
      const found = /"url":"([^"]+)"/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const stop = async (): Promise<number> => {
    const begun = performance.now();
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
    await ended;
    clearTimeout(timer);
    return performance.now() - begun;
  };
  return { pid: child.pid ?? 0, url, stop };
}

interface Enrolled {
  readonly name: string;
  readonly token: string;
  readonly key: KeyObject;
}

async function enrol(url: string, name: string): Promise<Enrolled> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const response = await fetch(`${url}/api/v1/nodes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BOOTSTRAP}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      nodeName: name,
      ...facts,
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    }),
  });
  const body = (await response.json()) as { readonly nodeToken?: string };
  if (body.nodeToken === undefined) throw new Error(`enrolment of ${name} failed: ${JSON.stringify(body)}`);
  return { name, token: body.nodeToken, key: privateKey };
}

let lost = 0;
let pings = 0;

async function connect(url: string, { name, token, key }: Enrolled): Promise<void> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/agent/v1/session`, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  socket.on('ping', () => (pings += 1));
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as
        | Challenge
        | { readonly type: 'welcome'; readonly epoch: number; readonly heartbeatMs: number };
      if (message.type === 'challenge') {
        const { nonce, epoch } = message;
        const signature = sign(null, Buffer.from(signedText(nonce, epoch, name)), key).toString('base64');
        socket.send(
          JSON.stringify({
            type: 'hello',
            protocol: PROTOCOL_VERSION,
            node: name,
            epoch,
            signature,
            ...facts,
          }),
        );
      } else if (message.type === 'welcome') {
        const report = JSON.stringify({
          type: 'report',
          epoch: message.epoch,
          generation: 1,
          full: true,
          observations: [],
        });
        const beat = (): void => {
          if (socket.readyState !== WebSocket.OPEN) return;
          socket.send(report);
          setTimeout(beat, message.heartbeatMs * (0.9 + Math.random() * 0.2));
        };
        setTimeout(beat, Math.random() * message.heartbeatMs);
        resolve();
      }
    });
  });
  socket.on('close', () => (lost += 1));
}

async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of queue) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return results;
}

const dataDir = await mkdtemp(join(tmpdir(), 'berth-bench-'));
const server = await startProcess(dataDir);
try {
  const idleMiB = rssMiB(server.pid);
  let begun = performance.now();
  const enrolled = await each(
    Array.from({ length: agents }, (_, index) => `node-${index}`),
    (name) => enrol(server.url, name),
  );
  console.log(
    `enrolled ${agents} in ${((performance.now() - begun) / 1000).toFixed(1)} s (${Math.round(agents / ((performance.now() - begun) / 1000))}/s)`,
  );
  const enrolledMiB = rssMiB(server.pid);
  begun = performance.now();
  await each(enrolled, (one) => connect(server.url, one));
  console.log(
    `connected ${agents} in ${((performance.now() - begun) / 1000).toFixed(1)} s (${Math.round(agents / ((performance.now() - begun) / 1000))}/s)`,
  );
  await pause(6000);
  const from = cpuSeconds(server.pid);
  begun = performance.now();
  pings = 0;
  await pause(seconds * 1000);
  const gauges = await (await fetch(`${server.url}/metrics`)).text();
  const gauge = (name: string): string =>
    (Number(new RegExp(`^berth_nodejs_${name} (\\S+)`, 'm').exec(gauges)?.[1] ?? 0) / 2 ** 20).toFixed(0);
  console.log(
    `heap used ${gauge('heap_size_used_bytes')} MiB of ${gauge('heap_size_total_bytes')}, outside it ${gauge('external_memory_bytes')} MiB`,
  );
  const spent = (cpuSeconds(server.pid) - from) / ((performance.now() - begun) / 1000);
  console.log(
    `RSS idle ${idleMiB.toFixed(0)} MiB, enrolled ${enrolledMiB.toFixed(0)} MiB, connected ${rssMiB(server.pid).toFixed(0)} MiB`,
  );
  console.log(
    `CPU ${(spent * 100).toFixed(1)} % of one core over ${seconds} s; pings ${(pings / seconds).toFixed(0)}/s; sessions lost ${lost}`,
  );
} finally {
  console.log(`stopped in ${(await server.stop()).toFixed(0)} ms`);
  await rm(dataDir, { recursive: true, force: true });
  process.exit(0);
}
