import { beforeEach, describe, expect, it } from 'vitest';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Operation } from '../../core/operations/operation.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Kv } from '../store/kv.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { CredentialWrites } from '../secrets/credential-writes.ts';
import type { SecretsStore } from '../secrets/port.ts';
import { StoreView } from '../store/view.ts';
import {
  acceptedOf,
  type Admission,
  type Caller,
  commitAttempts,
  type Silent,
  specHash,
} from './admission.ts';
import { parseIfMatch, revisionRejection } from './if-match.ts';

const TENANT = 't1' as TenantId;
const OTHER = 't2' as TenantId;
let kv: Kv;
let store: Store;
let now: number;
let made: number;

beforeEach(async () => {
  kv = createMemoryKv();
  store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  now = Date.parse('2026-01-01T00:00:00Z');
  made = 0;
  for (const id of [TENANT, OTHER]) {
    const tenant = { id, slug: id, name: id, createdAt: new Date(now).toISOString() };
    await store.commit(new Transaction(id).putGlobal('tenants', id, tenant));
  }
});

const admission = () =>
  ({
    store,
    clock: { now: () => new Date(now), monotonicMs: () => 0 },
    secrets: { writes: new CredentialWrites({} as SecretsStore) },
  }) as unknown as Admission;

function caller(idempotency?: Caller['idempotency']): Caller {
  return {
    tenant: store.forTenant(TENANT),
    tenantSlug: 'shop',
    requestId: 'r',
    ...(idempotency === undefined ? {} : { idempotency }),
  };
}

interface Made extends Operation {
  readonly success: {
    readonly status: number;
    readonly description: string;
    readonly answer: {
      readonly type: 'object';
      readonly fields: { readonly id: { readonly type: 'string' } };
    };
  };
}

const answered = acceptedOf<Made>();
const silent = acceptedOf<Silent>();

/** A write that conflicts with nothing: only the key can tell that it was sent before. */
function makeOne(who: Caller) {
  made += 1;
  const id = `n${made}`;
  return {
    answer: answered(201, { id }),
    transaction: who.tenant.transaction().put('quota', id, { containers: made }),
  };
}

const send = (key?: string, requestDigest = 'd') => {
  const who = caller(key === undefined ? undefined : { id: key, requestDigest });
  return commitAttempts(admission(), who, () => makeOne(who));
};

const stored = () => store.forTenant(TENANT).list('quota').length;

describe('a write', () => {
  it('answers with the revision of its commit', async () => {
    expect(await send()).toEqual({ status: 201, body: { id: 'n1' }, revision: 3 });
    expect(await send()).toMatchObject({ body: { id: 'n2' }, revision: 4 });
  });

  it('is prepared to be answered while it is committed, and sent once it is durable', async () => {
    const { commit } = kv;
    const steps: string[] = [];
    kv.commit = async (one) => {
      steps.push('commit');
      const result = await commit(one);
      steps.push(result.ok ? 'durable' : 'conflict');
      return result;
    };
    const who: Caller = {
      ...caller(),
      answering: ({ status, body }) => {
        steps.push(`prepared ${status} ${JSON.stringify(body)}`);
        return (revision) => void steps.push(`sent ${revision}`);
      },
    };
    const sent = await commitAttempts(admission(), who, () => {
      const one = makeOne(who);
      // The first attempt finds what it takes to be free taken.
      if (made === 1) one.transaction.include({ guards: [{ key: `h/g/tenants/${OTHER}`, modRevision: 0 }] });
      return one;
    });
    expect(sent).toEqual({ status: 201, body: { id: 'n2' }, revision: 3 });
    expect(steps).toEqual([
      'commit',
      'prepared 201 {"id":"n1"}',
      'conflict',
      'commit',
      'prepared 201 {"id":"n2"}',
      'durable',
      'sent 3',
    ]);
  });

  it('is refused when its tenant is deleted meanwhile', async () => {
    const who = caller();
    const outcome = await commitAttempts(admission(), who, async () => {
      await store.commit(new Transaction(TENANT).deleteGlobal('tenants', TENANT));
      return makeOne(who);
    });
    expect(outcome).toMatchObject({ code: 'tenant_not_found' });
    expect(stored()).toBe(0);
  });

  it('stores nothing when it is rejected or only tried', async () => {
    const before = await kv.range('');
    const no = reject('name_required', { field: 'name', received: '', why: '' });
    expect(await commitAttempts(admission(), caller({ id: 'k', requestDigest: 'd' }), () => no)).toBe(no);
    const dry = { answer: silent(200, {}) };
    expect(await commitAttempts(admission(), caller({ id: 'k', requestDigest: 'd' }), () => dry)).toBe(
      dry.answer,
    );
    expect(await kv.range('')).toEqual(before);
  });

  it('is decided again when something moved in between', async () => {
    const who = caller();
    const seen: (number | undefined)[] = [];
    const outcome = await commitAttempts(admission(), who, async () => {
      const before = who.tenant.get('quota', 'quota');
      seen.push(before?.record.containers);
      if (seen.length < 3)
        await store.commit(who.tenant.transaction().put('quota', 'quota', { containers: seen.length }));
      const transaction = who.tenant
        .transaction()
        .expect('quota', 'quota', before)
        .put('quota', 'quota', { containers: 9 });
      return { answer: silent(200, {}), transaction };
    });
    expect(seen).toEqual([undefined, 1, 2]);
    expect(outcome).toMatchObject({ status: 200, revision: 5 });
  });

  it('takes what is decided last into its first attempt alone, and says how that ended', async () => {
    const who = caller();
    const ends: boolean[] = [];
    const attempt = (guarded: string) => () => {
      const transaction = who.tenant.transaction().put('quota', 'quota', { containers: 1 });
      const lastly = () => {
        transaction.include({ guards: [{ key: guarded, modRevision: 0 }] });
        return (isStored: boolean) => void ends.push(isStored);
      };
      return { answer: silent(200, {}), transaction, lastly };
    };
    expect(await commitAttempts(admission(), who, attempt('h/g/none'))).toMatchObject({ status: 200 });
    expect(ends).toEqual([true]);
    const taken = `h/g/tenants/${TENANT}`;
    expect(await commitAttempts(admission(), who, attempt(taken))).toMatchObject({ status: 200 });
    expect(ends).toEqual([true, false]);
  });

  it('gives up after a bounded number of attempts', async () => {
    const who = caller();
    let tries = 0;
    const outcome = await commitAttempts(admission(), who, async () => {
      tries += 1;
      await store.commit(who.tenant.transaction().put('quota', 'quota', { containers: tries }));
      const transaction = who.tenant
        .transaction()
        .expect('quota', 'quota', undefined)
        .put('quota', 'quota', { containers: 0 });
      return { answer: silent(200, {}), transaction };
    });
    expect(isRejection(outcome) && outcome.code).toBe('store_unavailable');
    expect(tries).toBe(16);
  });
});

describe('an Idempotency-Key', () => {
  it('replays the first answer', async () => {
    const first = await send('k');
    expect(await send('k')).toEqual({ ...first, replayed: true });
    expect(stored()).toBe(1);
  });

  it('of requests at once lets one of them through', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('k')));
    expect(stored()).toBe(1);
    expect(
      new Set(answers.map((answer) => JSON.stringify(isRejection(answer) ? answer : answer.body))).size,
    ).toBe(1);
  });

  it('replays also when the first request is stored while the second is being decided', async () => {
    const taken = reject('deployment_already_exists', { field: 'name', received: 'n1', why: '' });
    const outcome = await commitAttempts(admission(), caller({ id: 'k', requestDigest: 'd' }), async () => {
      await send('k');
      return taken;
    });
    expect(outcome).toMatchObject({ status: 201, body: { id: 'n1' }, replayed: true });
    expect(stored()).toBe(1);
  });

  it('for another request is a conflict, and nothing is stored', async () => {
    await send('k', 'one');
    const outcome = await send('k', 'two');
    expect(isRejection(outcome) && outcome.code).toBe('idempotency_key_conflict');
    expect(stored()).toBe(1);
  });

  it('ends after 24 hours', async () => {
    await send('k');
    now += 24 * 3_600_000 - 1;
    expect(await send('k')).toMatchObject({ replayed: true });
    now += 1;
    expect(await send('k', 'other')).toMatchObject({ body: { id: 'n2' } });
    expect(await send('k', 'other')).toMatchObject({ body: { id: 'n2' }, replayed: true });
  });

  it('belongs to its tenant', async () => {
    await send('k');
    const other: Caller = {
      ...caller({ id: 'k', requestDigest: 'd' }),
      tenant: store.forTenant(OTHER),
    };
    expect(await commitAttempts(admission(), other, () => makeOne(other))).toMatchObject({
      body: { id: 'n2' },
    });
  });
});

describe('the spec hash', () => {
  const spec: DeploymentSpec = {
    kind: 'Deployment',
    name: 'web',
    image: 'shop/web:1',
    replicas: 1,
    secrets: [],
    secretsVersion: 0,
    environment: { A: '1', B: '2' },
  };

  it('does not depend on the order of keys, nor on what makes no other container', () => {
    const { environment: _, ...rest } = spec;
    expect(specHash({ environment: { B: '2', A: '1' }, ...rest })).toBe(specHash(spec));
    expect(specHash({ ...spec, replicas: 5, update: { maxSurge: 2 } })).toBe(specHash(spec));
  });

  it('covers everything else, secretsVersion included', () => {
    const others: readonly Partial<DeploymentSpec>[] = [
      { secretsVersion: 1 },
      { image: 'shop/web:2' },
      { environment: { A: '1' } },
      { command: ['x'] },
      { labels: {} },
    ];
    const hashes = [spec, ...others.map((other) => ({ ...spec, ...other }))].map(specHash);
    expect(new Set(hashes).size).toBe(hashes.length);
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('If-Match', () => {
  it.each<readonly [string | undefined, unknown]>([
    [undefined, undefined],
    ['*', 'any'],
    [' * ', 'any'],
    ['"42"', [42]],
    ['W/"42"', [42]],
    ['"1", "2"', [1, 2]],
    ['42', [42]],
  ])('%j is read', (header, expected) => {
    expect(parseIfMatch(header)).toEqual(expected);
  });

  it.each(['', '""', '"a"', '"-1"', '"1" "2"', '"1",', '*,"1"', '"1e3"', `"${'1'.repeat(16)}"`])(
    '%j is refused',
    (header) => {
      expect(parseIfMatch(header)).toMatchObject({ code: 'header_invalid', field: 'If-Match' });
    },
  );

  it('lets through the revisions it names', () => {
    expect(revisionRejection(undefined, 7)).toBeUndefined();
    expect(revisionRejection('any', 7)).toBeUndefined();
    expect(revisionRejection([6, 7], 7)).toBeUndefined();
    expect(revisionRejection([6], 7)).toMatchObject({ code: 'revision_mismatch', field: 'If-Match' });
    expect(revisionRejection([], 7)).toMatchObject({ code: 'revision_mismatch' });
  });
});
