import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { askUnread } from '../support/harness/unread.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { Transaction } from '../../src/server/store/transaction.ts';
import {
  type SpawnedControlPlane,
  spawnControlPlane,
  startControlPlane,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

const DEPLOYMENTS = 400;
const BYTES_EACH = 48 * 1024;
const CONNECTIONS = 25;
const IN_ONE_COMMIT = 16;
const MIB = 2 ** 20;
const LIST = '/api/v1/deployments?limit=1000';

let dataDir: string;
let plane: SpawnedControlPlane;
let viewer: string;
let bystander: string;

/** Stored beside the interface: this many writes of this size would take a while. */
async function fill(): Promise<void> {
  const before = await startControlPlane({ dataDir });
  const [shop, bank] = [await before.tenant('shop'), await before.tenant('bank')];
  [viewer, bystander] = [shop.tokens.viewer, bank.tokens.viewer];
  const environment = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`TEXT_${index}`, 'x'.repeat(BYTES_EACH / 12)]),
  );
  await before.api.call('POST', '/api/v1/deployments', {
    token: shop.tokens.deployer,
    body: { name: 'web', image: UNREACHABLE_IMAGE, replicas: 0, environment },
  });
  const tenant = before.store.forTenant(shop.id);
  const first = tenant.get('deployments', idOf('deployments', 'web'))?.record;
  if (first === undefined) throw new Error('the deployment is not stored');
  for (let done = 1; done < DEPLOYMENTS; done += IN_ONE_COMMIT) {
    const transaction = new Transaction(shop.id);
    for (let at = done; at < Math.min(DEPLOYMENTS, done + IN_ONE_COMMIT); at += 1) {
      const record = {
        ...first,
        id: `${first.id}${at}` as typeof first.id,
        spec: { ...first.spec, name: `web-${at}` },
      };
      transaction.put('deployments', idOf('deployments', `web-${at}`), record);
    }
    await before.store.commit(transaction);
  }
  await before.close();
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'berth-unread-'));
  await fill();
  plane = await spawnControlPlane({
    dataDir,
    config: { 'limits.sendTimeout': '3s', 'limits.unreadBytesPerToken': 4 * MIB },
  });
});
const opened = new Set<Socket>();
afterEach(() => {
  for (const socket of opened) socket.destroy();
});
afterAll(async () => {
  await plane.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function residentMib(): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${plane.pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}

const list = (token: string, path = LIST) => plane.api.send('GET', path, { token });

attack('viewer', 'long answers over connections that are never read', async () => {
  const before = residentMib();
  for (let count = 0; count < CONNECTIONS; count += 1) opened.add(askUnread(plane.url, LIST, viewer));
  const refused = await eventually(
    () => list(viewer),
    ({ status }) => status === 429,
  );
  expect(refused.body).toMatchObject({ code: 'answers_unread', field: 'Authorization' });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await list(bystander)).status).toBe(200);
  let most = before;
  for (let look = 0; look < 10; look += 1) {
    await delay(100);
    most = Math.max(most, residentMib());
  }
  expect(most - before, `${before} → ${most} MiB`).toBeLessThan(150);
  // Who takes nothing for the time is hung up on, and may ask again.
  await eventually(
    () => list(viewer),
    ({ status }) => status === 200,
  );
});

attack('viewer', 'a list that is larger than an answer may be', async () => {
  const names = new Set<unknown>();
  let pages = 0;
  for (let path = LIST; path !== ''; pages += 1) {
    const answer = await list(viewer, path);
    expect(answer.text.length).toBeLessThanOrEqual(4 * MIB);
    for (const { name } of answer.list) names.add(name);
    path = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers.link ?? ''))?.[1] ?? '';
  }
  expect(names.size).toBe(DEPLOYMENTS);
  expect(pages).toBeGreaterThan((DEPLOYMENTS * BYTES_EACH) / (4 * MIB) - 1);
});
