import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { selfSigned } from '../../test/support/harness/certificates.ts';
import { type TenantId, tenantId } from '../core/model/ids.ts';
import { PLATFORM_SLUG } from '../core/model/tenant.ts';
import { systemClock } from './clock.ts';
import { createIds } from './ids.ts';
import { Journal } from './journal/journal.ts';
import { OwnCertificate } from './own-certificate.ts';
import type { Kv } from './store/kv.ts';
import { createMemoryKv } from './store/memory.ts';
import { Store } from './store/store.ts';
import { StoreView } from './store/view.ts';

const PLATFORM: TenantId = tenantId('11111111-1111-4111-8111-111111111111');
const journal = new Journal(systemClock, createIds(systemClock));
const SOON = selfSigned(['IP:127.0.0.1'], 5).cert;
const LATER = selfSigned(['IP:127.0.0.1'], 90).cert;
let kv: Kv;
let store: Store;
let file: string;

beforeEach(async () => {
  kv = createMemoryKv();
  store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const tenant = store.forTenant(PLATFORM);
  await tenant.commit(tenant.transaction().putGlobal('tenant-slugs', PLATFORM_SLUG, { tenantId: PLATFORM }));
});
afterEach(() => kv.close());

const started = () =>
  new OwnCertificate({
    store,
    journal,
    clock: systemClock,
    log: pino({ enabled: false }),
    nodeName: 'berlin',
    read: () => file,
  });
const told = async () =>
  (await store.forTenant(PLATFORM).rangeCold('events')).entries.map(
    ({ record: { kind, subject } }) => `${kind} ${subject.kind}/${subject.name}`,
  );

const EXPIRING = 'certificate.expiring ControlPlane/berlin';
const RENEWED = 'certificate.renewed ControlPlane/berlin';

it('tells once that the certificate of the control plane ends, and once that it was renewed', async () => {
  file = LATER;
  const first = started();
  await first.look();
  expect(await told()).toEqual([]);
  file = SOON;
  for (const _look of [1, 2]) await first.look();
  expect(await told()).toEqual([EXPIRING]);
  // A process that starts anew, one beside it, and a file that is being replaced.
  await started().look();
  file = 'not a certificate';
  await first.look();
  expect(await told()).toEqual([EXPIRING]);
  file = LATER;
  await started().look();
  await first.look();
  expect(await told()).toEqual([EXPIRING, RENEWED]);
});

it('tells that it was renewed also when the journal has forgotten that it was to end', async () => {
  file = SOON;
  const own = started();
  await own.look();
  const tenant = store.forTenant(PLATFORM);
  for (const { id } of (await tenant.rangeCold('events')).entries)
    await tenant.commit(tenant.transaction().deleteCold('events', id));
  await own.look();
  expect(await told()).toEqual([]);
  file = LATER;
  for (const _look of [1, 2]) await own.look();
  expect(await told()).toEqual([RENEWED]);
});
