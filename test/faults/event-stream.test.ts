import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { coldKey } from '../../src/server/store/keys.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { type Caller, startControlPlane } from '../support/harness/control-plane.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { EventReader } from '../support/harness/event-reader.ts';
import { inTier } from '../support/fault-tier.ts';
import { eventually } from '../support/eventually.ts';
import { Dice } from '../support/openapi-fuzz.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/**
 * C-07: twenty readers of the public stream of events, which hang up at random and go on with Last-Event-ID, each see every committed
 * change once and in the order of the commits, which is read from the store itself. EVENT_SEED repeats the choices of a run.
 */

const CHANGES = inTier({ usual: 250, long: 5000 });
const SEED = Number(process.env['EVENT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const READERS = 20;
const WRITERS = 8;
const TIMEOUT_MS = inTier({ usual: 180_000, long: 1_800_000 });

let pushed: PushedImageRegistry;
let settings: Readonly<Record<string, string>>;
beforeAll(async () => {
  pushed = await startPushedImage();
  settings = {
    BERTH_RATE_LIMIT_PER_SECOND: '1000000',
    BERTH_RATE_LIMIT_BURST: '1000000',
    BERTH_REGISTRIES_ALLOW_PRIVATE: pushed.config['registries.allowPrivate'].join(','),
  };
});
afterAll(() => pushed.stop());

interface Stage {
  readonly kv: Kv;
  readonly urls: readonly string[];
  readonly tenant: { readonly id: string; readonly token: string };
  /** One way to the interface per control plane. */
  readonly callers: readonly Caller[];
  /** What breaks while the changes are made. */
  readonly meanwhile?: (committed: readonly string[]) => Promise<string>;
}

/** Ids of all events that are kept, in the order they were committed. */
async function kept({ kv, tenant }: Stage): Promise<readonly string[]> {
  const { entries } = await kv.range(coldKey(tenant.id as TenantId, 'events', ''));
  return entries
    .toSorted((a, b) => a.createRevision - b.createRevision || (a.key < b.key ? -1 : 1))
    .map(({ key }) => idOf(key));
}

function idOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** Ids of all events as they are committed from now on; more than are kept. */
async function committing({ kv, tenant }: Stage): Promise<readonly string[]> {
  const ids: string[] = [];
  kv.watch(coldKey(tenant.id as TenantId, 'events', ''), await kv.head(), {
    onBatch: ({ changes }) => {
      const told = changes.flatMap(({ key, entry }) => (entry === undefined ? [] : idOf(key)));
      ids.push(...told.sort());
    },
    onLost: (reason) => {
      throw new Error(reason);
    },
  });
  return ids;
}

/** Each writer has deployments of its own, which it makes, changes and deletes; a call that fails is no change. */
async function write({ callers }: Stage, writer: number, changes: number): Promise<number> {
  const dice = new Dice(SEED + writer);
  let failed = 0;
  for (let done = 0; done < changes; ) {
    const name = `w${writer}-${dice.below(4)}`;
    const call = dice.pick(callers);
    const environment = { ROUND: `${done}` };
    const path = `/api/v1/deployments/${name}`;
    const body = { image: pushed.image, replicas: 0, environment };
    try {
      const drawn = dice.next();
      const answer =
        drawn < 0.3
          ? await call('POST', '/api/v1/deployments', { name, ...body })
          : drawn < 0.9
            ? await call('PUT', path, body)
            : await call('DELETE', path);
      if (answer.status < 300) done += 1;
    } catch {
      failed += 1;
      await delay(20);
    }
  }
  return failed;
}

async function everyChangeOnce(stage: Stage, label: string): Promise<void> {
  const [call] = stage.callers;
  await call?.('POST', '/api/v1/deployments', { name: 'first', image: pushed.image, replicas: 0 });
  const after =
    (
      await eventually(
        () => kept(stage),
        (all) => all.length > 0,
      )
    ).at(-1) ?? '';
  const truth = await committing(stage);
  const readers = Array.from({ length: READERS }, (_, at) => {
    const { urls, tenant } = stage;
    return new EventReader({ urls, token: tenant.token, after, dice: new Dice(SEED + 1000 + at) });
  });
  const writers = Array.from({ length: WRITERS }, (_, at) => write(stage, at, Math.ceil(CHANGES / WRITERS)));
  const broke = (await stage.meanwhile?.(truth)) ?? 'nothing';
  const failed = (await Promise.all(writers)).reduce((sum, one) => sum + one, 0);
  // The controllers have more to say for a while after the last write.
  await eventually(
    async () => readers.filter(({ last }) => last !== truth.at(-1)).length,
    (behind) => behind === 0,
    60_000,
  );
  const least = truth.length;
  await Promise.all(readers.map((reader) => reader.stop()));
  const sum = (of: (reader: EventReader) => number): number =>
    readers.reduce((all, reader) => all + of(reader), 0);
  const wrong = readers.map(({ received }) => difference(received, truth.slice(0, least)));
  const [missing, twice, reordered] = (['missing', 'twice', 'reordered'] as const).map((kind) =>
    wrong.reduce((all, one) => all + one[kind], 0),
  );
  console.log(
    `${label}, seed ${SEED}: ${truth.length} events of ${CHANGES} changes, ${READERS} readers, ${sum((one) => one.connections)} ` +
      `connections (${sum((one) => one.refused)} refused), ${failed} calls failed, broken: ${broke}; ` +
      `${missing} missing, ${twice} twice, ${reordered} out of order`,
  );
  for (const { received, damaged } of readers) {
    expect(damaged).toEqual([]);
    expect(received).toEqual(truth.slice(0, Math.max(least, received.length)));
  }
  // What readers are held to is what the store kept, as far back as it keeps.
  const stored = await kept(stage);
  const newest = stored.at(-1) ?? '';
  await eventually(
    async () => truth.includes(newest),
    (told) => told,
  );
  const known = new Set(stored);
  expect(truth.filter((id) => known.has(id))).toEqual(stored.slice(stored.indexOf(after) + 1));
  expect(truth.length).toBeGreaterThanOrEqual(CHANGES);
  expect(sum((one) => one.connections)).toBeGreaterThan(READERS * 3);
}

function difference(received: readonly string[], truth: readonly string[]) {
  const at = new Map(truth.map((id, index) => [id, index]));
  const distinct = new Set(received);
  let reordered = 0;
  for (let index = 1; index < received.length; index += 1)
    if ((at.get(received[index] ?? '') ?? 0) < (at.get(received[index - 1] ?? '') ?? 0)) reordered += 1;
  return {
    missing: truth.filter((id) => !distinct.has(id)).length,
    twice: received.length - distinct.size,
    reordered,
  };
}

describe('the public stream of events', () => {
  it('tells every change once and in order, from the embedded store', { timeout: TIMEOUT_MS }, async () => {
    const plane = await startControlPlane([], settings);
    try {
      const tenant = await plane.tenant('shop');
      const { kv } = plane.store;
      await everyChangeOnce({ kv, urls: [plane.url], tenant, callers: [tenant.call] }, 'embedded');
    } finally {
      await plane.close();
    }
  });

  it('does so over three control planes on etcd, of which one is killed', {
    timeout: TIMEOUT_MS,
  }, async () => {
    let etcd: Etcd | undefined;
    let planes: Planes | undefined;
    try {
      etcd = await startEtcd();
      planes = await startPlanes(etcd, 3, settings);
      const { kv, members, addresses } = planes;
      const tenant = await planes.first.tenant('shop');
      const killed = new Dice(SEED).pick(members);
      const stage: Stage = {
        kv,
        urls: addresses,
        tenant,
        callers: members.map((plane) => plane.as(tenant.token)),
        meanwhile: async (committed) => {
          await eventually(
            async () => committed.length,
            (count) => count > CHANGES / 2,
            TIMEOUT_MS,
          );
          await killed.end('SIGKILL');
          await killed.start();
          return `control plane ${members.indexOf(killed)}`;
        },
      };
      await everyChangeOnce(stage, 'three control planes');
    } finally {
      await planes?.stop();
      await etcd?.stop();
    }
  });
});
