import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiClient } from '../support/harness/api-client.ts';
import { inTier } from '../support/fault-tier.ts';
import { notLinearizable, type RecordedCall } from '../support/linearizability.ts';
import { Dice } from '../support/openapi-fuzz.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { countsOf, RecordClient } from '../support/harness/record-clients.ts';
import { type SpawnedControlPlane, spawnControlPlane } from '../support/harness/server-under-test.ts';

/**
 * C-01: what eight clients did to five deployments, while the control plane was killed and started again, could have happened
 * one call after the other. LINEAR_SEED repeats the choices of a run (not its timing), LINEAR_ROUNDS lengthens it.
 */
const ROUNDS = Number(process.env['LINEAR_ROUNDS'] ?? inTier({ usual: 5, long: 100 }));
const SEED = Number(process.env['LINEAR_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 8;
const KEYS = ['a', 'b', 'c', 'd', 'e'];
/** A round in which less was done before the kill is void: it does not count, and the next one is longer. */
const CALLS_PER_ROUND = 300;

const dataDir = mkdtempSync(join(tmpdir(), 'berth-linear-'));
let pushed: PushedImageRegistry;
let plane: SpawnedControlPlane | undefined;
beforeAll(async () => {
  pushed = await startPushedImage();
});
afterAll(async () => {
  await plane?.kill();
  await pushed.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function work(
  client: RecordClient,
  api: ApiClient,
  history: RecordedCall[],
  stopped: () => boolean,
): Promise<void> {
  while (!stopped()) {
    try {
      await client.call(api, history);
    } catch (error) {
      if (!stopped()) throw error;
      return;
    }
  }
}

it(`deployment records are linearizable over ${ROUNDS} kills`, {
  timeout: inTier({ usual: 120_000, long: 1_800_000 }),
}, async () => {
  const clients = Array.from(
    { length: CLIENTS },
    (_, at) => new RecordClient({ name: `c${at}`, seed: SEED + at, keys: KEYS, image: pushed.image }),
  );
  const dice = new Dice(SEED);
  const history: RecordedCall[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    plane = await spawnControlPlane({ dataDir, config: { logLevel: 'error', ...pushed.config } });
    const { api } = plane;
    const begun = history.length;
    let stopped = false;
    const working = Promise.all(clients.map((client) => work(client, api, history, () => stopped)));
    const ended = working.catch(() => undefined);
    while (history.length - begun < CALLS_PER_ROUND)
      await Promise.race([delay(5), ended.then(() => delay(5))]);
    await delay(dice.below(40));
    stopped = true;
    await plane.kill();
    await working;
  }
  const unanswered = history.filter(({ answer }) => answer === undefined).length;
  const broken = notLinearizable(history);
  console.log(
    `seed ${SEED}: ${history.length} calls, ${ROUNDS} kills; ${countsOf(history)}; ${broken.length} keys broken`,
  );
  expect(broken, `seed ${SEED}`).toEqual([]);
  expect(history.length - unanswered).toBeGreaterThanOrEqual(ROUNDS * CALLS_PER_ROUND - unanswered);
  for (const kind of ['found', 'written', 'deleted', 'absent', 'exists', 'mismatch'])
    expect(countsOf(history)).toContain(`${kind} `);
});
