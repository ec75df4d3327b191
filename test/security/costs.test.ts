import { afterAll, beforeAll, expect } from 'vitest';
import { Transaction } from '../../src/server/store/transaction.ts';
import { attack } from '../support/attack.ts';
import { rawExchange } from '../support/harness/raw-exchange.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

const EVENTS = 3000;
const IN_ONE_COMMIT = 100;

let plane: ControlPlane;
let shop: TestTenant;
let bank: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane({ config: { 'rateLimit.perSecond': 1, 'rateLimit.burst': 200 } });
  [shop, bank] = [await plane.tenant('shop'), await plane.tenant('bank')];
  for (let first = 0; first < EVENTS; first += IN_ONE_COMMIT) {
    const transaction = new Transaction(shop.id);
    for (let at = first; at < first + IN_ONE_COMMIT; at += 1) {
      const id = `evt_${String(at).padStart(12, '0')}`;
      transaction.putCold('events', id, {
        id,
        at: new Date(at).toISOString(),
        kind: at === EVENTS - 1 ? 'test.last' : 'test.one',
        tenantId: shop.id,
        subject: { kind: 'Deployment', name: 'x' },
        message: 'x',
        details: {},
      });
      const line = `aud_${String(at).padStart(12, '0')}`;
      transaction.putCold('audit', line, {
        id: line,
        at: new Date(at).toISOString(),
        actor: 'system',
        role: 'system',
        tenantId: shop.id,
        action: at === EVENTS - 1 ? 'test.last' : 'test.one',
        subject: { kind: 'Deployment', name: 'x' },
        result: 'accepted',
        requestId: 'r',
      });
    }
    await plane.store.commit(transaction);
  }
});
afterAll(() => plane.close());

/** Answers of one kind of request, until it is refused for its rate. */
async function untilRefused(send: () => Promise<{ status: number }>, most: number): Promise<number> {
  for (let count = 1; count <= most; count += 1) if ((await send()).status === 429) return count;
  return Number.POSITIVE_INFINITY;
}

attack('viewer', 'event filters that match nothing, again and again', async () => {
  const get = (query: string) =>
    plane.api.get(`/api/v1/events?${query}`, { token: shop.tokens.viewer, laws: false });
  // One page finds what is far behind; it does not end early.
  const last = await get('kind=test.last');
  expect([last.list.length, last.headers.link]).toEqual([1, undefined]);
  expect(await untilRefused(() => get('kind=none'), 100)).toBeLessThan(20);
  const bystander = await plane.api.get('/api/v1/events', { token: bank.tokens.viewer, laws: false });
  expect(bystander.status).toBe(200);
});

attack('an administrator of a tenant', 'audit filters that match nothing, again and again', async () => {
  const get = (query: string) =>
    plane.api.get(`/api/v1/audit?${query}`, { token: shop.tokens['tenant-admin'], laws: false });
  const last = await get('action=test.last');
  expect([last.list.length, last.headers.link]).toEqual([1, undefined]);
  expect(await untilRefused(() => get('actor=nobody'), 100)).toBeLessThan(20);
  const bystander = await plane.api.get('/api/v1/audit', {
    token: bank.tokens['tenant-admin'],
    laws: false,
  });
  expect(bystander.status).toBe(200);
});

attack('deployer', 'YAML that takes long to read', async () => {
  const send = (yaml: string) =>
    plane.api.call('POST', '/api/v1/deployments', { token: shop.tokens.deployer, yaml, laws: false });
  const long = await send(`name: "${'a'.repeat(65 * 1024)}"\n`);
  expect([long.status, long.body['code']]).toEqual([413, 'body_too_large']);
  expect(await untilRefused(() => send(`name: "${'a'.repeat(60 * 1024)}"\n`), 100)).toBeLessThan(10);
});

attack('anybody', 'long bodies that never end, held in memory without a credential', async () => {
  // All but the last bytes: what is answered was not waited for.
  const said = (path: string, length: string, body: string) =>
    rawExchange(
      plane.url,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody\r\n${length}\r\n\r\n${body}`,
      { untilClosed: true, limitMs: 3000 },
    );
  const long = 'a'.repeat(200_000);
  const chunk = `${long.length.toString(16)}\r\n${long}\r\n`;
  const answers = await Promise.all([
    said('/api/v1/deployments', 'Content-Length: 1000000', long),
    said('/api/v1/deployments', 'Transfer-Encoding: chunked', chunk),
    said('/api/v1/nothing', 'Content-Length: 1000000', long),
  ]);
  expect(answers.map(({ status, body, closed }) => [status, body['code'], closed])).toEqual([
    [401, 'unauthenticated', true],
    [401, 'unauthenticated', true],
    [404, 'route_not_found', true],
  ]);
});
