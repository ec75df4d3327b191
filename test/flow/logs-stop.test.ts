import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as askPlain, type IncomingMessage, Server } from 'node:http';
import { request as askOverTls, Server as SecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { AGENT_LOST, STOPPING } from '../../src/core/contract/log-end.ts';
import { AGENT_LOG_FEATURE, type StreamRequest } from '../../src/core/protocol/agent-protocol.ts';
import { connect, followedPastStops } from '../../src/sdk/index.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { BOOTSTRAP, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { UNREACHABLE_IMAGE } from '../support/harness/server-under-test.ts';

/** A control plane that stops ends the logs that are followed there, in order, and says why. */

const END = `event: end\ndata: ${JSON.stringify(STOPPING)}\n\n`;
const PATIENT = { timeout: 20_000 };
const closing: (() => Promise<void> | void)[] = [];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-logs-stop-'));
  const material = selfSigned(['IP:127.0.0.1']);
  await writeFile(join(folder, 'cert.pem'), material.cert);
  await writeFile(join(folder, 'key.pem'), material.key);
});
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Over a connection that would be kept. */
async function ask({ url }: ControlPlane, method: string, path: string, body?: object, token = BOOTSTRAP) {
  const { hostname: host, port, protocol } = new URL(url);
  const send = protocol === 'https:' ? askOverTls : askPlain;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const outgoing = send({ host, port, method, path, headers, rejectUnauthorized: false });
  outgoing.end(body && JSON.stringify(body));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  response.on('error', () => undefined);
  const over = new Promise<void>((resolve) => response.once('close', resolve));
  /** `isWhole`: it was ended in order, and not cut. */
  return { status: response.statusCode, over, text: () => text, isWhole: () => response.complete };
}

describe('an agent that goes away, or does not send all', () => {
  it('is not taken for the end of what is followed there', async () => {
    const plane = await startControlPlane();
    closing.push(() => plane.close());
    const flow = new NodeFlow(plane);
    closing.push(() => flow.close());
    const shop = await plane.tenant('shop');
    const { agent } = await flow.connected('n1', shop, undefined, { features: [AGENT_LOG_FEATURE] });
    const { id } = await flow.placed(shop, 'web', 'n1');
    const ofInstance = `/api/v1/deployments/web/logs?follow=true&instance=${id}`;
    const ofAgent = '/api/v1/nodes/n1/logs?follow=true';
    const read = async (path: string): Promise<[Awaited<ReturnType<typeof ask>>, string]> => {
      const reader = await ask(plane, 'GET', path, undefined, shop.token);
      return [reader, (await agent.next('request')).streamId];
    };
    const ends = (ended: object): string => `event: end\ndata: ${JSON.stringify(ended)}\n\n`;
    for (const [path, ended] of [
      [ofInstance, {}],
      [ofAgent, { reason: 'the agent ended it' }],
    ] as const) {
      const [whole, streamId] = await read(path);
      agent.send({ type: 'end', streamId });
      await whole.over;
      expect(whole.text()).toBe(ends(ended));
    }
    for (const path of [ofInstance, ofAgent]) {
      const [refused, streamId] = await read(path);
      const message = '16 logs are followed already';
      agent.send({ type: 'end', streamId, error: { reason: 'too_many_streams', message } });
      await refused.over;
      expect(refused.text().endsWith(ends({ reason: message }))).toBe(true);
    }
    const [[lost], [own]] = [await read(ofInstance), await read(ofAgent)];
    agent.close();
    await Promise.all([lost.over, own.over]);
    expect(lost.text()).toMatch(/^event: problem\n/);
    expect(lost.text().endsWith(ends(AGENT_LOST))).toBe(true);
    expect(own.text()).toBe(ends(AGENT_LOST));
  });
});

describe('a control plane that stops', () => {
  it.each([
    ['without TLS', false, 0],
    ['with TLS', true, 0],
    ['with TLS on threads', true, 2],
  ] as const)(
    'ends the logs that are followed before it cuts anything (%s)',
    async (_how, isSecure, threads) => {
      const tls = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')];
      const plane = await startControlPlane(isSecure ? [...tls, '--tls-threads', String(threads)] : []);
      const spec = { name: 'web', image: UNREACHABLE_IMAGE, replicas: 0 };
      expect((await ask(plane, 'POST', '/api/v1/deployments', spec)).status).toBe(201);
      const paths = ['/api/v1/deployments/web/logs?follow=true', '/api/v1/system/logs?follow=true&tail=0'];
      const readers = await Promise.all(paths.map((path) => ask(plane, 'GET', path)));
      expect(readers.map(({ status }) => status)).toEqual([200, 200]);
      const cuts = [Server, SecureServer].map(({ prototype }) => vi.spyOn(prototype, 'closeAllConnections'));
      await plane.close();
      await Promise.all(readers.map(({ over }) => over));
      expect(readers.map((reader) => [reader.isWhole(), reader.text().endsWith(END)])).toEqual([
        [true, true],
        [true, true],
      ]);
      for (const cut of cuts) expect(cut).not.toHaveBeenCalled();
    },
  );

  it('is not taken for the end of an instance or of its agent, and the log goes on at the next one', async () => {
    const dataDir = join(folder, 'data');
    const start = (listen: string) => startControlPlane(['--data-dir', dataDir, '--listen', listen]);
    const plane = await start('127.0.0.1:0');
    const flow = new NodeFlow(plane);
    closing.push(() => flow.close());
    const shop = await plane.tenant('shop');
    const { agent, identity } = await flow.connected('n1', shop);
    const { id, specHash } = await flow.placed(shop, 'web', 'n1');
    const container = { containerId: 'c1', startedAt: 't1' };
    agent.report([{ id, phase: 'running', specHash, secretsVersion: 0, ...container }]);
    const seen = async () => (await shop.call('GET', '/api/v1/deployments/web/instances')).body;
    await expect.poll(async () => JSON.stringify(await seen()), PATIENT).toContain('"running"');

    const one = await ask(
      plane,
      'GET',
      `/api/v1/deployments/web/logs?follow=true&instance=${id}`,
      undefined,
      shop.token,
    );
    await agent.next('request');
    const leaving = new AbortController();
    closing.push(() => leaving.abort());
    const client = connect({ url: plane.url, token: shop.token, signal: leaving.signal });
    const told: string[] = [];
    const reading = async (): Promise<void> => {
      const open = (since: string | undefined) =>
        client.frames('GET /api/v1/deployments/{name}/logs', {
          params: { name: 'web' },
          query: { follow: true, ...(since === undefined ? { tail: 7 } : { since }) },
          resume: false,
          attempts: 1,
        });
      for await (const { event, data } of followedPastStops(open)) told.push(`${event} ${data}`);
    };
    void reading().catch((error: unknown) => told.push(String(error)));
    const isLog = ({ operation }: StreamRequest): boolean => operation.kind === 'logs';
    const print = (streamId: string, text: string): unknown =>
      agentNow.send({ type: 'data', streamId, text: `${text}\n`, channel: 'stdout' });
    let agentNow = agent;
    const first = await agent.next('request', isLog);
    expect(first.operation).toMatchObject({ tail: 7 });
    print(first.streamId, 'before');
    await expect.poll(() => told.join(), PATIENT).toContain('before');

    const { host } = new URL(plane.url);
    await plane.close();
    await one.over;
    expect([one.isWhole(), one.text()]).toEqual([true, END]);
    const again = await start(host);
    closing.push(() => again.close());
    // Its agent comes later than the reader.
    await expect.poll(() => told.join(), PATIENT).toContain('its agent is not connected');
    agentNow = flow.dial(identity);
    await agentNow.welcome();
    const second = await agentNow.next('request', isLog);
    expect(second.operation).toMatchObject({ sinceSeconds: expect.any(Number), instanceId: id });
    print(second.streamId, 'after');
    await expect.poll(() => told.join(), PATIENT).toContain('after');
    expect(told.map((text) => text.split(' ', 1)[0])).toEqual(['log', 'end', 'problem', 'log']);
  });
});
