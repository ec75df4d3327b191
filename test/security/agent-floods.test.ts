import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import type { Flood, Flooded, FloodFrame } from '../support/agents/flooding-agent.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';

const MIB = 2 ** 20;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let bank: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
});
afterAll(async () => {
  reading.abort();
  await Promise.all(readers);
  // The control plane has seen by then that they left.
  await bank.call('GET', '/api/v1/deployments');
  flow.close();
  await plane.close();
});

interface Seen extends Flooded {
  /** How long a reader of another tenant waited, in ms. */
  readonly p50: number;
  readonly p99: number;
}

/** A flood of one node while another tenant reads, and what that one saw. */
async function flooded(
  node: string,
  frames: readonly FloodFrame[],
  { forMs = 9000, connected = async () => {} } = {},
): Promise<Seen> {
  const { url, token, key } = await flow.enrolled(node, shop);
  const data: Flood = {
    url,
    node,
    token,
    key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    forMs,
    frames,
  };
  const worker = new Worker(new URL('../support/agents/flooding-agent.ts', import.meta.url), {
    workerData: data,
    execArgv: [],
  });
  const result = Promise.withResolvers<Flooded>();
  worker.on('error', result.reject);
  const open = Promise.withResolvers<void>();
  worker.on('message', (message: 'connected' | Flooded) => {
    if (message === 'connected') open.resolve();
    else result.resolve(message);
  });
  await open.promise;
  let over = false;
  const finished = result.promise.finally(() => {
    over = true;
  });
  const waits: number[] = [];
  await connected();
  while (!over) {
    const begun = performance.now();
    const { status } = await bank.call('GET', '/api/v1/deployments');
    expect(status).toBe(200);
    waits.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const sorted = waits.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const flood = await finished;
  const seen = { ...flood, p50: at(0.5), p99: at(0.99) };
  await worker.terminate();
  return seen;
}

const reading = new AbortController();
const readers: Promise<unknown>[] = [];

async function followed(name: string, node: string): Promise<void> {
  await flow.placed(shop, name, node);
  const read = fetch(`${plane.url}/api/v1/deployments/${name}/logs?follow=true`, {
    headers: { authorization: `Bearer ${shop.token}` },
    signal: reading.signal,
  });
  readers.push(read.then((response) => response.text()).catch(() => undefined));
}

const FRAMES_PER_SECOND = 4000;
const BURST = 8000;
/** What the network and the control plane's socket hold that was not read yet, in frames of the smallest kind. */
const UNREAD_FRAMES = 400_000;

attack(
  'holder of a stolen node credential',
  'empty data messages of a stream that somebody reads',
  async () => {
    const seen = await flooded(
      'empty-1',
      [{ kind: 'text', payload: '{"type":"data","streamId":"{stream}"}' }],
      { connected: () => followed('empty', 'empty-1') },
    );
    expect(seen).toMatchObject({ closed: true, farewell: 'rate_limited' });
    expect(seen.sent).toBeLessThan(FRAMES_PER_SECOND * seen.seconds + BURST + UNREAD_FRAMES);
    expect(seen.p99).toBeLessThan(250);
  },
);

attack('holder of a stolen node credential', 'a message in fragments of no bytes, without end', async () => {
  const seen = await flooded('fragments-1', [
    { kind: 'begin', payload: '' },
    { kind: 'more', payload: '' },
  ]);
  expect(seen.closed).toBe(true);
  expect(seen.p99).toBeLessThan(250);
});

attack('holder of a stolen node credential', 'pings without end', async () => {
  const seen = await flooded('pings-1', [{ kind: 'ping', payload: '' }]);
  expect(seen).toMatchObject({ closed: true, farewell: 'rate_limited' });
  expect(seen.p99).toBeLessThan(250);
});

const REPORT = '"type":"report","epoch":{epoch},"generation":1,"full":true';
const MANY_PORTS = Array.from({ length: 20 }, (_, port) => ({ container: port, host: port }));

attack('holder of a stolen node credential', 'reports of 4 MiB, of very many parts', async () => {
  const observations = Array.from({ length: 3000 }, (_, at) => ({
    id: `ins_${at}`,
    phase: 'running',
    message: 'x'.repeat(700),
    ports: MANY_PORTS,
  }));
  const many = await flooded(
    'parts-1',
    [{ kind: 'text', payload: `{${REPORT},"observations":${JSON.stringify(observations)}}` }],
    { forMs: 3000 },
  );
  // What may come at once, what may come meanwhile, and what the network holds.
  expect(many.sent).toBeLessThanOrEqual(8);
  expect(many).toMatchObject({ closed: false });
  expect(many.p99).toBeLessThan(250);
});

attack('holder of a stolen node credential', 'reports of 4 MiB in a shape that no report has', async () => {
  const junk = await flooded('junk-1', [
    {
      kind: 'text',
      payload: `{${REPORT},"observations":[],"junk":[${'[],'.repeat((4 * MIB) / 3 - 100)}[]]}`,
    },
  ]);
  expect(junk).toMatchObject({ closed: true, farewell: 'body_malformed' });
  expect(junk.p99).toBeLessThan(250);
});

attack('holder of a stolen node credential', 'an answer nested 100,000 deep', async () => {
  const deep = await flooded(
    'deep-1',
    [
      {
        kind: 'text',
        payload: `{"type":"data","streamId":"{stream}","value":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      },
    ],
    { connected: () => followed('deep', 'deep-1') },
  );
  expect(deep).toMatchObject({ closed: true, farewell: 'body_malformed' });
});
