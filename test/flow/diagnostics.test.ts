import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ISSUED_EXAMPLES } from '../../src/core/rules/credentials/published-examples.ts';
import { specimen } from '../../src/core/rules/credentials/specimen.ts';
import { type CallOptions, Client, type Frame } from '../../src/sdk/index.ts';
import { parsedRecord } from '../../src/core/model/values.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { BOOTSTRAP, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';

let plane: ControlPlane;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let client: Client;

/** Of a form that no rule knows: only who has it knows that it is a credential. */
const CANARY = {
  variable: specimen('', 20),
  document: `${specimen('', 9)} ${specimen('', 9)}`,
  registry: `${specimen('', 8)} ${specimen('', 10)}`,
};
const TOKEN = Object.values(ISSUED_EXAMPLES)[0] ?? '';

beforeAll(async () => {
  process.env['CANARY_PASSWORD'] = CANARY.variable;
  plane = await startControlPlane(['--log-level', 'info']);
  shop = await plane.tenant('shop');
  client = new Client({ url: plane.url, token: BOOTSTRAP });
});
afterAll(async () => {
  delete process.env['CANARY_PASSWORD'];
  await plane.close();
});

const once = { resume: false, persistent: false };
type LogQuery = CallOptions<'GET /api/v1/system/logs'>['query'];
type ReportQuery = CallOptions<'GET /api/v1/system/debug'>['query'];

async function* read(frames: AsyncIterable<Frame>) {
  for await (const { event, data } of frames) yield { event, data: parsedRecord(data) };
}
const followed = (query: LogQuery, signal?: AbortSignal) =>
  read(
    client.frames('GET /api/v1/system/logs', { query: { follow: true, tail: 0, ...query }, signal, ...once }),
  );
const reported = (query: ReportQuery, signal?: AbortSignal) =>
  read(client.frames('GET /api/v1/system/debug', { query, signal, ...once }));

async function report(query: ReportQuery = {}) {
  const files = new Map<string, string>();
  const missing: string[] = [];
  let end: Record<string, unknown> = {};
  for await (const { event, data } of reported(query)) {
    if (event === 'file')
      files.set(String(data['name']), `${files.get(String(data['name'])) ?? ''}${String(data['text'])}`);
    if (event === 'missing') missing.push(String(data['name']));
    if (event === 'end') end = data;
  }
  return { files, missing, end };
}

const audit = async (action: string) =>
  (await plane.admin('GET', '/api/v1/audit?limit=1000')).body.filter(
    (line: { action: string }) => line.action === action,
  );

describe('a report of a control plane', () => {
  it('says what a bug report needs, and is in the audit', async () => {
    const { files, missing, end } = await report();
    expect(missing).toEqual([]);
    expect([...files.keys()].map((name) => name.replace(/-.*Z/, ''))).toEqual([
      'versions.json',
      'configuration.json',
      'health.json',
      'members.json',
      'store.json',
      'agents.json',
      'metrics/00.txt',
      'log.jsonl',
    ]);
    expect(JSON.parse(files.get('versions.json') ?? '')).toMatchObject({
      node: { node: process.versions.node },
    });
    expect(JSON.parse(files.get('store.json') ?? '')).toMatchObject({
      inMemory: { tenants: { records: 2 } },
    });
    expect(end).toEqual({ redactions: expect.any(Number) });
    expect(await audit('system.debugged')).toMatchObject([{ subject: { kind: 'ControlPlane' } }]);
  });

  it('holds no credential, wherever one was put', async () => {
    await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { password: CANARY.document } });
    const pulling = { username: 'puller', password: CANARY.registry };
    const kept = await shop.call('PUT', '/api/v1/secrets/registries/registry.example', { values: pulling });
    expect(kept.status).toBe(201);
    await shop.call('POST', '/api/v1/deployments', { name: 'web', image: `registry.invalid/${TOKEN}:1` });
    // What was sent is in lines of the log, in events and in records; here as a careless line would have it.
    plane.log.warn(
      {
        err: new Error(`connect postgres://joe:${CANARY.variable}@db`),
        label: CANARY.document,
        pulled: CANARY.registry,
      },
      TOKEN,
    );
    plane.log.info({ text: Buffer.from(CANARY.document).toString('base64') }, `Bearer ${BOOTSTRAP}`);
    const { files, end } = await report();
    const text = [...files.values()].join('\n');
    expect(files.get('log.jsonl')).toContain('<redacted');
    for (const secret of [...Object.values(CANARY), TOKEN, BOOTSTRAP, shop.token])
      for (const form of [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
        expect(text.includes(form), form).toBe(false);
    expect(end['redactions']).toBeGreaterThanOrEqual(4);
  });

  it('is made once at a time, and again after the one before was left', async () => {
    const leaving = new AbortController();
    const first = reported({ for: '10m' }, leaving.signal);
    await first.next();
    const second = await plane.admin('GET', '/api/v1/system/debug');
    expect([second.status, second.body.code]).toEqual([429, 'stream_limit_reached']);
    leaving.abort();
    await first.next().catch(() => undefined);
    await eventually(
      async () => (await report()).files.size,
      (count) => count > 5,
    ).catch(() => undefined);
    expect((await report()).files.size).toBeGreaterThan(5);
  });

  it.runIf(LONG_TIER)('has a profile and the classes of the heap on demand, without contents', async () => {
    const { files, missing } = await report({ for: '1s', profile: true });
    expect(missing).toEqual([]);
    const profile = JSON.parse(files.get('cpu.cpuprofile') ?? '');
    expect(profile.nodes.length).toBeGreaterThan(1);
    const heap = JSON.parse(files.get('heap.json') ?? '');
    expect(heap.classes).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'Map' }),
        expect.objectContaining({ name: '(string)' }),
      ]),
    );
    for (const { name, count, bytes } of heap.classes)
      expect([name, count >= 0, bytes >= 0]).toEqual([expect.stringMatching(/^\(?[\w$ -]+\)?$/), true, true]);
  });
});

describe('the log of a control plane', () => {
  it('is followed at a level of its own for a while, which the log itself does not get', async () => {
    const leaving = new AbortController();
    const lines = followed({ level: 'debug', for: '1h' }, leaving.signal);
    const first = lines.next();
    await eventually(
      async () => plane.log.level,
      (level) => level === 'debug',
    );
    await plane.admin('GET', '/api/v1/nodes');
    const isRead = (line: unknown) => String(line).includes('"path":"/api/v1/nodes"');
    for (let { value } = await first; !isRead(value?.data['line']); { value } = await lines.next())
      expect(value?.event).toBe('log');
    expect(plane.feed.tail(5000).some(isRead)).toBe(false);
    leaving.abort();
  });

  it('ends when its time is over, and the level is what it was', async () => {
    const seen: string[] = [];
    for await (const { event } of followed({ level: 'debug', for: '1s' })) seen.push(event);
    expect(seen.at(-1)).toBe('end');
    await eventually(
      async () => plane.log.level,
      (level) => level === 'info',
    );
    const read = await audit('system.log_read');
    expect(read.map(({ details }: { details: object }) => details)).toEqual(
      expect.arrayContaining([{ level: 'debug', seconds: 1 }]),
    );
  });

  it('is what it was when the reader goes away', async () => {
    const leaving = new AbortController();
    const lines = followed({ level: 'debug', for: '1h' }, leaving.signal);
    const first = lines.next();
    await eventually(
      async () => plane.log.level,
      (level) => level === 'debug',
    );
    await plane.admin('GET', '/api/v1/nodes');
    expect((await first).value?.event).toBe('log');
    leaving.abort();
    await eventually(
      async () => plane.log.level,
      (level) => level === 'info',
    );
  });

  it('says how many lines a slow reader has lost', async () => {
    const leaving = new AbortController();
    const lines = followed({ level: 'debug', for: '1h' }, leaving.signal);
    const first = lines.next();
    await eventually(
      async () => plane.log.level,
      (level) => level === 'debug',
    );
    for (let count = 0; count < 400; count += 1) plane.log.info({ text: 'x '.repeat(10_000) }, 'long');
    expect((await first).value?.event).toBe('log');
    let lost = 0;
    for await (const { event, data } of lines)
      if (event === 'gap') {
        lost = Number(data['lines']);
        break;
      }
    expect(lost).toBeGreaterThan(100);
    leaving.abort();
  });

  it.each([
    ['level=loud', 'level'],
    ['for=2h', 'for'],
    ['for=soon', 'for'],
    ['tail=100000', 'tail'],
    ['member=elsewhere', 'member'],
  ])('refuses %s', async (query, field) => {
    const { status, body } = await plane.admin('GET', `/api/v1/system/logs?follow=true&${query}`);
    expect([status, body.code, body.field]).toEqual([400, 'query_parameter_invalid', field]);
  });

  it('is for platform administrators alone', async () => {
    for (const path of ['logs', 'debug']) {
      const { status, body } = await shop.call('GET', `/api/v1/system/${path}`);
      expect([status, body.code]).toEqual([403, 'role_forbidden']);
    }
  });
});
