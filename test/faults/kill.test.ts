import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClient, Json } from '../support/harness/api-client.ts';
import { inTier } from '../support/fault-tier.ts';
import { markedBody, markerOf, readWhole } from '../support/marked-deployments.ts';
import { type SpawnedControlPlane, spawnControlPlane } from '../support/harness/server-under-test.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/**
 * F-01: kill -9 under 8 writers. What was acknowledged is there, whole; what is there was sent. The long tier has 200 kills and goes on between two of them until 20,000 writes are acknowledged in all.
 */

const KILLS = inTier({ usual: 8, long: 200 });
const WRITES = inTier({ usual: 0, long: 20_000 });
const TIMEOUT_MS = inTier({ usual: 240_000, long: 3_600_000 });
/** A bound on the wait for writes, so that a store that takes none ends the test and not the patience. */
const MAX_ROUND_MS = 30_000;
const WRITERS = 8;
/** The bar on an idle machine is 2 s and is printed; a busy one gets more before it counts as a failure. */
const READY_BAR_MS = 2000;
const READY_LIMIT_MS = 10_000;

interface Written {
  /** Values of the marker that were sent, in order; each is sent once. */
  readonly sent: string[];
  acknowledged?: string;
  deleted?: boolean;
}

interface Writer {
  readonly deployments: Map<string, Written>;
  acknowledged: number;
}

function marker(written: Written, writer: number): string {
  const next = `w${writer}-${written.sent.length}`;
  written.sent.push(next);
  return next;
}

async function create(api: ApiClient, image: string, state: Writer, writer: number): Promise<void> {
  const name = `w${writer}-d${state.deployments.size}`;
  const written: Written = { sent: [] };
  state.deployments.set(name, written);
  const text = marker(written, writer);
  const answer = await api.send('POST', '/api/v1/deployments', {
    body: { name, image, ...markedBody(text) },
  });
  if (answer.status !== 201) throw new Error(`refused: ${answer.text}`);
  written.acknowledged = text;
  state.acknowledged += 1;
}

async function update(api: ApiClient, state: Writer, writer: number, name: string): Promise<void> {
  const written = state.deployments.get(name);
  if (written === undefined) return;
  const text = marker(written, writer);
  const answer = await api.send('PUT', `/api/v1/deployments/${name}`, { body: markedBody(text) });
  // A create whose answer was lost may not have been stored; that is no loss.
  if (answer.status === 404 && written.acknowledged === undefined) return;
  if (answer.status !== 200) throw new Error(`refused: ${answer.text}`);
  written.acknowledged = text;
  state.acknowledged += 1;
}

async function write(
  api: ApiClient,
  image: string,
  state: Writer,
  writer: number,
  stopped: () => boolean,
): Promise<void> {
  for (let turn = 0; !stopped(); turn += 1) {
    const names = [...state.deployments.keys()];
    const name = names[turn % Math.max(1, names.length)];
    try {
      if (name === undefined || turn % 3 === 0) await create(api, image, state, writer);
      else await update(api, state, writer, name);
    } catch (error) {
      if (!stopped()) throw error;
    }
  }
}

async function readAll(api: ApiClient): Promise<Map<string, Json>> {
  const all = await readWhole(api, '/api/v1/deployments');
  return new Map(all.map((deployment) => [String(deployment['name']), deployment]));
}

function acknowledgedBy(writers: readonly Writer[]): number {
  return writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
}

interface Losses {
  lost: string[];
  torn: string[];
  phantom: string[];
}

function compare(writers: readonly Writer[], stored: ReadonlyMap<string, Json>): Losses {
  const losses: Losses = { lost: [], torn: [], phantom: [] };
  const known = new Map(writers.flatMap((writer) => [...writer.deployments]));
  for (const [name, { sent, acknowledged }] of known) {
    const record = stored.get(name);
    if (record === undefined) {
      if (acknowledged !== undefined) losses.lost.push(name);
      continue;
    }
    const { marker: text, torn } = markerOf(record);
    if (torn) losses.torn.push(name);
    const at = sent.indexOf(text);
    if (at === -1) losses.phantom.push(name);
    // The write after the acknowledged one may have been stored without an answer; an older one must not be back.
    else if (acknowledged !== undefined && at < sent.indexOf(acknowledged)) losses.lost.push(name);
  }
  for (const name of stored.keys()) if (!known.has(name)) losses.phantom.push(name);
  return losses;
}

const dataDir = mkdtempSync(join(tmpdir(), 'berth-kill-'));
let plane: SpawnedControlPlane | undefined;
let pushed: PushedImageRegistry;
beforeAll(async () => {
  pushed = await startPushedImage();
});
afterAll(async () => {
  await plane?.kill();
  await pushed.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

describe('kill -9 of the control plane', () => {
  it(`loses nothing in ${KILLS} kills under ${WRITERS} writers`, { timeout: TIMEOUT_MS }, async () => {
    const writers: Writer[] = Array.from({ length: WRITERS }, () => ({
      deployments: new Map(),
      acknowledged: 0,
    }));
    const ready: number[] = [];
    for (let kill = 0; kill <= KILLS; kill += 1) {
      plane = await spawnControlPlane({ dataDir, config: { logLevel: 'error', ...pushed.config } });
      ready.push(plane.readyMs);
      const { api } = plane;
      const losses = compare(writers, await readAll(api));
      expect(losses, `after kill ${kill}`).toEqual({ lost: [], torn: [], phantom: [] });
      if (kill === KILLS) break;
      let stopped = false;
      const writing = writers.map((state, index) => write(api, pushed.image, state, index, () => stopped));
      // Kills fall at different points of the writes; the spread is fixed, so that a run can be repeated.
      await delay(150 + ((kill * 37) % 200));
      const roundEndsMs = performance.now() + MAX_ROUND_MS;
      // On a slow machine a round takes as long as it takes.
      const due = Math.max(WRITES / KILLS, WRITERS + 1) * (kill + 1);
      while (acknowledgedBy(writers) < due && performance.now() < roundEndsMs) await delay(20);
      stopped = true;
      await plane.kill();
      await Promise.all(writing);
    }
    const acknowledged = acknowledgedBy(writers);
    const slowest = Math.round(Math.max(...ready));
    console.log(
      `${KILLS} kills, ${acknowledged} acknowledged writes, 0 lost, 0 torn, 0 phantom; ready in ${Math.round(
        ready.reduce((sum, ms) => sum + ms, 0) / ready.length,
      )} ms (slowest ${slowest} ms, ${
        ready.filter((ms) => ms > READY_BAR_MS).length
      } over ${READY_BAR_MS} ms)`,
    );
    expect(acknowledged).toBeGreaterThan(KILLS * WRITERS);
    expect(acknowledged).toBeGreaterThanOrEqual(WRITES);
    expect(slowest).toBeLessThan(READY_LIMIT_MS);
  });
});
