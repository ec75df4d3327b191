import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { tenantId } from '../../core/model/ids.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { createDialer } from '../registry/dialer.ts';
import { cloudEvent } from '../../core/plan/webhooks/delivery.ts';
import { createPost } from './post.ts';
import { signed } from './signature.ts';

const SHOP = tenantId('t1');
const EVENT = {
  id: 'evt_1',
  at: '2026-01-01T00:00:00.000Z',
  kind: 'node.failed',
  tenantId: SHOP,
  subject: { kind: 'Node', name: 'berlin-1' },
  message: 'berlin-1 failed',
  details: {},
} as const;
const SIGNING = { vault_path: 'resources/hooks', key: 'key' };
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function posting(allowPrivate: readonly string[], timeoutMs = 300, text = 'the key') {
  const dialer = createDialer({ allowPrivate });
  ends.push(() => dialer.close());
  const values = new Map([['key', new SecretValue(text)]]);
  return createPost({
    dialer,
    secrets: {
      read: async () => ({ ok: true, version: 1, createdAt: EVENT.at, values }),
      metadata: async () => ({ ok: true, exists: false }),
    },
    credential: () => undefined,
    namespaces: ['resources'],
    nowMs: () => Date.parse(EVENT.at),
    timeoutMs,
  });
}

const forever = new AbortController().signal;

describe('one attempt to send an event', () => {
  it('ends at its deadline when the receiver hangs, before or within its answer', async () => {
    const silent = await listen(() => undefined);
    const slow = await listen((_request, response) => void response.writeHead(200).write('a'));
    const post = posting(['http://127.0.0.1:*']);
    for (const url of [silent, slow])
      expect(await post(SHOP, { url, signing: SIGNING }, EVENT, forever)).toMatchObject({
        failure: 'timeout',
      });
  });

  it('follows no redirect', async () => {
    let asked = 0;
    const inside = await listen((_request, response) => {
      asked += 1;
      response.end();
    });
    const url = await listen((request, response) => {
      request.resume();
      response.writeHead(307, { location: inside }).end();
    });
    const answer = await posting(['http://127.0.0.1:*'])(SHOP, { url, signing: SIGNING }, EVENT, forever);
    expect(answer).toEqual({ status: 307 });
    expect(asked).toBe(0);
  });

  it('goes to no address that is not listed, and says nothing of what is there', async () => {
    const url = await listen((_request, response) => response.end());
    const post = posting([]);
    const said = [];
    for (const one of [url, url.replace('http:', 'https:'), 'https://localhost/', 'https://10.1.2.3/'])
      said.push(await post(SHOP, { url: one, signing: SIGNING }, EVENT, forever));
    const blocked = {
      failure: 'blocked',
      message: 'the host has no address that the control plane may call',
    };
    expect(said).toEqual([blocked, blocked, blocked, blocked]);
  });

  it('sends nothing without the key', async () => {
    const url = await listen((_request, response) => response.end());
    const signing = { ...SIGNING, key: 'other' };
    expect(await posting(['http://127.0.0.1:*'])(SHOP, { url, signing }, EVENT, forever)).toEqual({
      failure: 'unsigned',
      message: 'the secret resources/hooks has no key other',
    });
  });

  it('sends nothing that anybody could sign, or by a namespace that is not granted any more', async () => {
    const url = await listen((_request, response) => response.end());
    for (const text of ['whsec_', 'whsec_**'])
      expect(
        await posting(['http://127.0.0.1:*'], 300, text)(SHOP, { url, signing: SIGNING }, EVENT, forever),
      ).toMatchObject({ failure: 'unsigned' });
    const signing = { ...SIGNING, vault_path: 'platform/hooks' };
    expect(await posting(['http://127.0.0.1:*'])(SHOP, { url, signing }, EVENT, forever)).toEqual({
      failure: 'unsigned',
      message: 'the policy does not grant the namespace platform of platform/hooks',
    });
  });

  it.each([
    ['staged', 1, [1, 2]],
    ['promoted', 2, [2, 1]],
    ['retiring', 2, [2]],
  ] as const)(
    'is signed with both keys while a rotation has two of them: %s',
    async (phase, current, signs) => {
      let sent: unknown;
      const url = await listen((request, response) => {
        sent = request.headers['webhook-signature'];
        request.resume();
        response.end();
      });
      const dialer = createDialer({ allowPrivate: ['http://127.0.0.1:*'] });
      ends.push(() => dialer.close());
      const nowMs = Date.parse(EVENT.at);
      const post = createPost({
        dialer,
        secrets: {
          read: async (_tenant, _path, version = 2) => {
            const values = new Map([['key', new SecretValue(`key ${version}`)]]);
            return { ok: true, version, createdAt: EVENT.at, values };
          },
          metadata: async () => ({
            ok: true,
            exists: true,
            keys: ['key'],
            version: 2,
            createdAt: EVENT.at,
            versions: [1, 2].map((version) => ({ version, createdAt: EVENT.at })),
          }),
        },
        credential: () => ({ current, known: 2, rotation: { phase, next: 2, previous: 1 } }),
        namespaces: ['resources'],
        nowMs: () => nowMs,
      });
      expect(await post(SHOP, { url, signing: SIGNING }, EVENT, forever)).toEqual({ status: 200 });
      const keys = signs.map((version) => `key ${version}`);
      const body = JSON.stringify(cloudEvent(EVENT));
      expect(sent).toBe(signed(keys, EVENT.id, nowMs, body)['webhook-signature']);
    },
  );

  it('is cut off when the process ends', async () => {
    const url = await listen(() => undefined);
    const ending = new AbortController();
    const sent = posting(['http://127.0.0.1:*'], 60_000)(
      SHOP,
      { url, signing: SIGNING },
      EVENT,
      ending.signal,
    );
    ending.abort();
    expect(await sent).toEqual({ failure: 'closed' });
  });
});
