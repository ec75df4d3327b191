import { describe, expect, it } from 'vitest';
import { exactly } from '../../core/schema/shape.ts';
import { isRejection } from '../../core/rejections/reject.ts';
import { duplicateHeader, idempotencyKeyRejection, requestIdOf } from './headers.ts';
import { createHealth, type HealthParts } from './health.ts';
import { booleanParameter, integerParameter, pageOf, pageReply, pageRequest, readPage } from './paging.ts';
import { type JsonReply, JsonText } from './route.ts';
import { RateLimiter } from './rate-limit.ts';
import { reachedUrl } from './replies.ts';

const asText = exactly<string>();

function textOf<A>({ body }: JsonReply<A>): string {
  return body instanceof JsonText ? body.text : '';
}

describe('headers that decide', () => {
  it.each([
    [['Authorization', 'a', 'authorization', 'b'], 'authorization'],
    [['X-Tenant-ID', 'a', 'Accept', '*', 'x-tenant-id', 'a'], 'x-tenant-id'],
    [['Content-Type', 'a', 'CONTENT-TYPE', 'b'], 'content-type'],
    [['If-Match', '"1"', 'If-Match', '"2"'], 'if-match'],
    [['Idempotency-Key', 'a', 'Idempotency-Key', 'a'], 'idempotency-key'],
    [['Host', 'a', 'Host', 'b'], 'host'],
  ])('%j is refused', (raw, field) => {
    expect(duplicateHeader(raw)).toMatchObject({ code: 'header_duplicate', field });
  });

  it('may be sent once, and others as often as one likes', () => {
    expect(duplicateHeader([])).toBeUndefined();
    expect(
      duplicateHeader(['Authorization', 'a', 'Host', 'b', 'Accept', 'x', 'Accept', 'y']),
    ).toBeUndefined();
    expect(duplicateHeader(['__proto__', 'a', '__proto__', 'b'])).toBeUndefined();
  });

  it('shows no value', () => {
    const rejection = duplicateHeader(['Authorization', 'Bearer hunter2', 'Authorization', 'Bearer hunter2']);
    expect(JSON.stringify(rejection)).not.toContain('hunter2');
  });

  it.each([
    ['abc-1.2_3', 'abc-1.2_3'],
    ['a'.repeat(64), 'a'.repeat(64)],
    ['a'.repeat(65), 'fresh'],
    ['', 'fresh'],
    ['a b', 'fresh'],
    ['a\nb', 'fresh'],
    ['{"x":1}', 'fresh'],
    [['a', 'b'], 'fresh'],
    [undefined, 'fresh'],
  ])("a caller's id %j becomes %s", (header, expected) => {
    expect(requestIdOf(header, () => 'fresh')).toBe(expected);
  });

  it('an Idempotency-Key is plain text of bounded length', () => {
    for (const key of [undefined, 'a', '!~', 'x'.repeat(255)])
      expect(idempotencyKeyRejection(key)).toBeUndefined();
    for (const key of ['', ' ', 'a b', 'ä', 'a\n', 'x'.repeat(256)])
      expect(idempotencyKeyRejection(key)).toMatchObject({
        code: 'header_invalid',
        field: 'Idempotency-Key',
      });
  });
});

describe('the address that a client came to', () => {
  it.each([
    [{ localAddress: '127.0.0.1', localPort: 7440 }, 'http://127.0.0.1:7440'],
    [{ localAddress: '::1', localPort: 7440 }, 'http://[::1]:7440'],
    [{ localAddress: '::ffff:10.0.0.1', localPort: 80 }, 'http://10.0.0.1:80'],
    [{ localAddress: '10.0.0.1', localPort: 443, encrypted: true }, 'https://10.0.0.1:443'],
    [{}, 'http://localhost'],
  ])('of %j is %s', (socket, url) => {
    expect(reachedUrl(socket)).toBe(url);
  });
});

describe('the rate limit', () => {
  function limiter(perSecond: number, burst: number) {
    let now = 1000;
    const limit = new RateLimiter({ perSecond, burst }, { now: () => new Date(0), monotonicMs: () => now });
    return { take: (key = 'a') => limit.retryAfterSeconds(key), wait: (ms: number) => (now += ms) };
  }

  it('lets a burst pass, then the rate', () => {
    const { take, wait } = limiter(2, 3);
    expect([take(), take(), take()]).toEqual([undefined, undefined, undefined]);
    expect(take()).toBe(1);
    wait(499);
    expect(take()).toBe(1);
    wait(1);
    expect(take()).toBeUndefined();
    expect(take()).toBe(1);
  });

  it('saves up no more than the burst', () => {
    const { take, wait } = limiter(1, 2);
    wait(3_600_000);
    expect([take(), take(), take()]).toEqual([undefined, undefined, 1]);
  });

  it('says how long to wait, and a refusal costs nothing', () => {
    const { take, wait } = limiter(0.1, 1);
    expect(take()).toBeUndefined();
    for (let index = 0; index < 5; index += 1) expect(take()).toBe(10);
    wait(9999);
    expect(take()).toBe(1);
    wait(2);
    expect(take()).toBeUndefined();
  });

  it('is counted per key', () => {
    const { take } = limiter(1, 1);
    expect([take('a'), take('b'), take('a')]).toEqual([undefined, undefined, 1]);
  });
});

describe('paging', () => {
  it.each<readonly [Readonly<Record<string, string>>, unknown]>([
    [{}, { limit: 500 }],
    [{ limit: '1' }, { limit: 1 }],
    [{ limit: '1000' }, { limit: 1000 }],
    [
      { limit: '2', cursor: Buffer.from('wéb/1').toString('base64url') },
      { limit: 2, after: 'wéb/1' },
    ],
  ])('%j', (query, expected) => {
    expect(pageRequest(query)).toEqual(expected);
  });

  it.each<readonly [Readonly<Record<string, string>>, string]>([
    [{ limit: '0' }, 'limit'],
    [{ limit: '1001' }, 'limit'],
    [{ limit: '-1' }, 'limit'],
    [{ limit: '1.5' }, 'limit'],
    [{ limit: '1e2' }, 'limit'],
    [{ limit: '' }, 'limit'],
    [{ limit: ' 1' }, 'limit'],
    [{ limit: '1'.repeat(16) }, 'limit'],
    [{ cursor: '' }, 'cursor'],
    [{ cursor: 'a' }, 'cursor'],
    [{ cursor: '!!!!' }, 'cursor'],
    [{ cursor: 'd2Vi=' }, 'cursor'],
    [{ cursor: '_____w' }, 'cursor'],
  ])('%j is refused', (query, field) => {
    expect(pageRequest(query)).toMatchObject({ code: 'query_parameter_invalid', field });
  });

  it('walks a list page by page, each entry once', () => {
    const all = Array.from({ length: 23 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    const seen: unknown[] = [];
    let query: Record<string, string> = { limit: '5', kind: 'a b' };
    for (let pages = 0; pages < 10; pages += 1) {
      const page = pageRequest(query);
      if (isRejection(page)) throw new Error(page.why);
      const read = pageOf(page, all, (id) => id);
      const reply = pageReply(
        page,
        '/api/v1/x',
        query,
        read,
        (id) => id,
        (id) => asText(id),
      );
      seen.push(...(JSON.parse(textOf(reply)) as string[]));
      const link = /^<(\/api\/v1\/x\?[^>]*)>; rel="next"$/.exec(reply.headers?.['link'] ?? '')?.[1];
      if (link === undefined) break;
      query = Object.fromEntries(new URL(link, 'http://x').searchParams);
      expect(query['kind']).toBe('a b');
    }
    expect(seen).toEqual(all);
  });

  it('has no next page when the last one is full', () => {
    const reply = pageReply(
      { limit: 2 },
      '/x',
      {},
      ['a', 'b'],
      (id) => id,
      (id) => asText(id),
    );
    expect(reply).toEqual({ status: 200, body: new JsonText('["a","b"]') });
  });

  it('ends a page before it is too long, but shows one record at least', () => {
    const all = ['a', 'b', 'c'].map((name) => ({ name, text: 'x'.repeat(3 * 2 ** 20) }));
    const shown = (from: number, each = all) => {
      const reply = pageReply(
        { limit: 9 },
        '/x',
        {},
        each.slice(from),
        ({ name }) => name,
        (one) => exactly<(typeof all)[number]>()(one),
      );
      return [(JSON.parse(textOf(reply)) as unknown[]).length, reply.headers !== undefined];
    };
    expect([shown(0), shown(1), shown(2)]).toEqual([
      [1, true],
      [1, true],
      [1, false],
    ]);
    const large = all.map(({ name, text }) => ({ name, text: text + text }));
    expect([shown(0, large), shown(2, large)]).toEqual([
      [1, true],
      [1, false],
    ]);
  });

  it('reads records that are not in memory in slices, hardly more than a page holds', async () => {
    const stored = Array.from({ length: 900 }, (_, index) => ({
      id: String(index).padStart(3, '0'),
      record: index,
      modRevision: 1,
      createRevision: 1,
    }));
    const asked: number[] = [];
    const reader = (each: number) => (options: { limit: number; after?: string }) => {
      const { limit, after = '' } = options;
      asked.push(limit);
      const entries = stored.filter(({ id }) => id > after).slice(0, limit);
      return Promise.resolve({ entries, length: entries.length * each });
    };
    expect((await readPage({ limit: 500 }, reader(300))).map(({ record }) => record)).toEqual(
      stored.slice(0, 501).map(({ record }) => record),
    );
    expect(asked.splice(0)).toEqual([16, 485]);
    expect((await readPage({ limit: 500 }, reader(2 ** 18))).length).toBeLessThan(20);
    expect((await readPage({ limit: 1000, after: '889' }, reader(300))).length).toBe(10);
  });

  it('reads integers and booleans', () => {
    const none: { n?: string } = {};
    expect(integerParameter(none, 'n', 0, 9)).toBeUndefined();
    expect(integerParameter({ n: '9' }, 'n', 0, 9)).toBe(9);
    expect(isRejection(integerParameter({ n: '10' }, 'n', 0, 9))).toBe(true);
    expect([{}, { b: 'false' }, { b: 'true' }].map((query) => booleanParameter(query, 'b'))).toEqual([
      false,
      false,
      true,
    ]);
    for (const b of ['', '1', 'yes', 'TRUE']) expect(isRejection(booleanParameter({ b }, 'b'))).toBe(true);
  });
});

describe('health', () => {
  const parts: HealthParts = {
    version: '1',
    store: async () => ({ kind: 'memory', connected: true }),
    secrets: async () => ({ kind: 'embedded', connected: true, sealed: false }),
    controllers: () => ({ scheduler: 'ok' }),
  };

  it('is ok when everything is', async () => {
    expect(await createHealth(parts)()).toEqual({
      status: 'ok',
      version: '1',
      store: { kind: 'memory', connected: true },
      secrets: { kind: 'embedded', connected: true, sealed: false },
      controllers: { scheduler: 'ok' },
    });
  });

  it.each<readonly [string, Partial<HealthParts>]>([
    ['the store is away', { store: async () => ({ kind: 'etcd', connected: false }) }],
    [
      'the store cannot write',
      { store: async () => ({ kind: 'sqlite', connected: true, problem: 'disk full' }) },
    ],
    ['secrets are away', { secrets: async () => ({ kind: 'vault', connected: false, sealed: false }) }],
    ['secrets are sealed', { secrets: async () => ({ kind: 'vault', connected: true, sealed: true }) }],
  ])('is degraded when %s', async (_, part) => {
    expect((await createHealth({ ...parts, ...part })()).status).toBe('degraded');
  });

  it('asks the store anew each time', async () => {
    let asked = 0;
    const health = createHealth({
      ...parts,
      store: async () => {
        asked += 1;
        return { kind: 'memory', connected: asked < 2 };
      },
    });
    expect([(await health()).status, (await health()).status]).toEqual(['ok', 'degraded']);
  });
});
