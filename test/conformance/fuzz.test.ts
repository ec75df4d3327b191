import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/harness/api-client.ts';
import { inTier } from '../support/fault-tier.ts';
import { ACCEPTED, BodyMaker, Dice, type Operation, operationsOf } from '../support/openapi-fuzz.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

/**
 * Generated requests for every route of the document that the control plane serves: each answer is a documented one, with a
 * documented code, in time. BERTH_FUZZ_SEED repeats a run, BERTH_FUZZ_REQUESTS lengthens it. CI takes
 * one seed, so that what it says is about the change; every other run draws one.
 */
const DRAWN = process.env['CI'] === 'true' ? 1 : Math.floor(Math.random() * 2 ** 31);
const SEED = Number(process.env['BERTH_FUZZ_SEED'] ?? DRAWN);
const REQUESTS = Number(process.env['BERTH_FUZZ_REQUESTS'] ?? inTier({ usual: 6_000, long: 200_000 }));
const AT_ONCE = 16;
const LIMIT_MS = 5_000;
const SIX = ['code', 'doc', 'expected', 'field', 'received', 'why'];

let plane: ControlPlane;
let shop: TestTenant;
let document: unknown;
let operations: readonly Operation[];

beforeAll(async () => {
  plane = await startControlPlane({
    laws: false,
    logLevel: 'error',
    config: { 'rateLimit.perSecond': 1_000_000, 'rateLimit.burst': 1_000_000 },
  });
  shop = await plane.tenant('shop');
  document = JSON.parse((await plane.api.get('/openapi.json')).text);
  operations = operationsOf(document).filter(({ path }) => path.startsWith('/api/v1/'));
});
afterAll(() => plane.close());

interface Sent {
  readonly operation: Operation;
  readonly path: string;
  readonly body: string | undefined;
  readonly answer: Answer;
}

/** Live answers never end; they have tests of their own. */
function isEndless(path: string): boolean {
  return path.includes('follow=');
}

function bodyFor(operation: Operation, maker: BodyMaker, dice: Dice): unknown {
  const made = maker.value(operation.body ?? {});
  const seed = ACCEPTED[operation.path];
  if (seed === undefined || typeof made !== 'object' || made === null || dice.chance(0.3)) return made;
  const some = Object.entries(made).filter(() => dice.chance(0.25));
  return { ...seed, ...Object.fromEntries(some) };
}

async function send(operation: Operation, maker: BodyMaker, dice: Dice): Promise<Sent> {
  let path = operation.path.replaceAll(/\{([A-Za-z]+)\}/g, (_whole, name: string) => {
    // The tenant that acts must live.
    if (name === 'tenant' && operation.method !== 'DELETE' && dice.chance(0.7)) return 'shop';
    if (name === 'namespace' && dice.chance(0.7)) return 'resources';
    return encodeURIComponent(dice.chance(0.5) ? 'web' : wellFormed(maker.text()) || 'x');
  });
  const query = operation.queries
    .filter((name) => name !== 'follow' && dice.chance(0.2))
    .map((name) => `${name}=${encodeURIComponent(wellFormed(maker.text()))}`);
  if (dice.chance(0.02)) query.push('nothing=known');
  if (query.length > 0) path += `?${query.join('&')}`;
  const withBody = operation.body !== undefined && !dice.chance(0.02);
  const body = withBody ? JSON.stringify(bodyFor(operation, maker, dice)) : undefined;
  const asYaml = operation.yaml && dice.chance(0.15);
  const answer = await plane.api.call(operation.method, path, {
    token: operation.platform ? plane.adminToken : shop.tokens['tenant-admin'],
    ...(dice.chance(0.3)
      ? { tenant: dice.chance(0.9) ? 'shop' : wellFormed(maker.text()).replaceAll(/[^a-z-]/g, '') }
      : {}),
    ...(body === undefined ? {} : asYaml ? { yaml: body } : { raw: body }),
  });
  return { operation, path, body, answer };
}

/** What a URL can carry: half a surrogate pair cannot be encoded. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}

function complaint({ operation, answer, path }: Sent): string | undefined {
  const { status, body, ms } = answer;
  if (ms > LIMIT_MS) return `took ${Math.round(ms)} ms`;
  if (status < 400) return undefined;
  if (Object.keys(body).toSorted().join() !== SIX.join())
    return `is no rejection: ${answer.text.slice(0, 200)}`;
  const code = String(body['code']);
  if (status >= 500 && code === 'internal_error') return `internal error: ${answer.text.slice(0, 200)}`;
  // A name that no route has, e.g. an empty segment or one that is resolved away.
  if (code === 'route_not_found' || code === 'method_not_allowed') return undefined;
  if (operation.codes.get(status)?.has(code) !== true)
    return `is not documented for ${operation.path}: ${status} ${code} (${path})`;
  return undefined;
}

describe('every route', () => {
  it(
    `answers ${REQUESTS} generated requests in documented ways (seed ${SEED})`,
    async () => {
      const dice = new Dice(SEED);
      const maker = new BodyMaker(document, dice);
      const complaints = new Map<string, string>();
      const answered = new Map<number, number>();
      const usable = operations.filter(({ path }) => !isEndless(path));
      const accepted = new Set<string>();
      let begun = 0;
      const worker = async (): Promise<void> => {
        while (begun < REQUESTS) {
          const operation = usable[begun % usable.length];
          begun += 1;
          if (operation === undefined) return;
          const sent = await send(operation, maker, dice);
          answered.set(sent.answer.status, (answered.get(sent.answer.status) ?? 0) + 1);
          const wrong = complaint(sent);
          const place = `${operation.method} ${operation.path}`;
          if (wrong !== undefined) complaints.set(`${place} ${wrong}`, sent.body?.slice(0, 400) ?? '');
          else if (sent.answer.status < 300) accepted.add(place);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      const statuses = [...answered]
        .toSorted(([a], [b]) => a - b)
        .map(([status, count]) => `${status}: ${count}`);
      console.log(
        `seed ${SEED}, ${begun} requests to ${usable.length} operations, ${accepted.size} of them accepted some; ${statuses.join(', ')}`,
      );
      expect([...complaints].slice(0, 20)).toEqual([]);
      expect(begun).toBeGreaterThanOrEqual(REQUESTS);
      const health = await plane.api.get('/healthz');
      expect(health.body['status'], health.text).toBe('ok');
    },
    inTier({ usual: 120_000, long: 7_200_000 }),
  );
});
