import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import type { Answer, ApiClient, CallOptions, Json } from '../support/api-client.ts';
import { inTier } from '../support/fault-tier.ts';
import {
  notLinearizable,
  type RecordAnswer,
  type RecordCall,
  type RecordedCall,
} from '../support/linearizability.ts';
import { Dice } from '../support/openapi-fuzz.ts';
import {
  type SpawnedControlPlane,
  spawnControlPlane,
  UNREACHABLE_IMAGE,
} from '../support/server-under-test.ts';

/**
 * C-01: what eight clients did to five deployments, while the control plane was killed and started again, could have happened
 * one call after the other. LINEAR_SEED repeats the choices of a run (not its timing), LINEAR_ROUNDS lengthens it.
 */
const ROUNDS = Number(process.env['LINEAR_ROUNDS'] ?? inTier({ usual: 5, long: 100 }));
const SEED = Number(process.env['LINEAR_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 8;
const NAMES = ['a', 'b', 'c', 'd', 'e'];
/** A round in which less was done before the kill is void: it does not count, and the next one is longer. */
const CALLS_PER_ROUND = 300;

const dataDir = mkdtempSync(join(tmpdir(), 'berth-linear-'));
let plane: SpawnedControlPlane | undefined;
afterAll(async () => {
  await plane?.kill();
  rmSync(dataDir, { recursive: true, force: true });
});

class Client {
  readonly #dice: Dice;
  readonly #tags = new Map<string, string>();
  readonly #name: string;
  #sent = 0;

  constructor(name: string, seed: number) {
    this.#name = name;
    this.#dice = new Dice(seed);
  }

  choose(key: string): RecordCall {
    const tag = this.#tags.get(key);
    const condition = tag !== undefined && this.#dice.chance(0.6) ? { ifMatch: tag } : {};
    const drawn = this.#dice.next();
    if (drawn < 0.4) return { kind: 'read' };
    if (drawn < 0.5) return { kind: 'delete', ...condition };
    this.#sent += 1;
    const value = `${this.#name}-${this.#sent}`;
    return drawn < 0.65 ? { kind: 'create', value } : { kind: 'update', value, ...condition };
  }

  pick(): string {
    return this.#dice.pick(NAMES);
  }

  learn(key: string, answer: RecordAnswer): void {
    if ('tag' in answer) this.#tags.set(key, answer.tag);
  }
}

function body(value: string): Json {
  return { image: UNREACHABLE_IMAGE, environment: { VALUE: value } };
}

function send(api: ApiClient, key: string, call: RecordCall): Promise<Answer> {
  const path = `/api/v1/deployments/${key}`;
  const headers: CallOptions =
    'ifMatch' in call && call.ifMatch !== undefined ? { headers: { 'if-match': call.ifMatch } } : {};
  switch (call.kind) {
    case 'read':
      return api.send('GET', path);
    case 'create':
      return api.send('POST', '/api/v1/deployments', { body: { name: key, ...body(call.value) } });
    case 'update':
      return api.send('PUT', path, { body: body(call.value), ...headers });
    case 'delete':
      return api.send('DELETE', path, headers);
  }
}

function readAnswer(call: RecordCall, { status, headers, body: answered, text }: Answer): RecordAnswer {
  const tag = String(headers['etag']);
  if (status === 404) return { kind: 'absent' };
  if (status === 412) return { kind: 'mismatch' };
  if (status === 409 && call.kind === 'create') return { kind: 'exists' };
  if (status < 300 && call.kind === 'delete') return { kind: 'deleted' };
  if (status >= 300 || headers['etag'] === undefined) throw new Error(`${call.kind}: ${status} ${text}`);
  if (call.kind !== 'read') return { kind: 'written', tag };
  return { kind: 'found', tag, value: String((answered['environment'] as Json)['VALUE']) };
}

async function work(
  client: Client,
  api: ApiClient,
  history: RecordedCall[],
  stopped: () => boolean,
): Promise<void> {
  while (!stopped()) {
    const key = client.pick();
    const call = client.choose(key);
    const startMs = performance.now();
    let received: Answer;
    try {
      received = await send(api, key, call);
    } catch (error) {
      if (!stopped()) throw error;
      history.push({ key, call, startMs });
      return;
    }
    const answer = readAnswer(call, received);
    history.push({ key, call, startMs, endMs: performance.now(), answer });
    client.learn(key, answer);
  }
}

it(`deployment records are linearizable over ${ROUNDS} kills`, {
  timeout: inTier({ usual: 120_000, long: 1_800_000 }),
}, async () => {
  const clients = Array.from({ length: CLIENTS }, (_, at) => new Client(`c${at}`, SEED + at));
  const dice = new Dice(SEED);
  const history: RecordedCall[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    plane = await spawnControlPlane({ dataDir, config: { logLevel: 'error' } });
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
  const kinds = Map.groupBy(history, ({ answer }) => answer?.kind ?? 'unanswered');
  const counts = [...kinds].map(([kind, calls]) => `${kind} ${calls.length}`).sort();
  console.log(
    `seed ${SEED}: ${history.length} calls, ${ROUNDS} kills; ${counts.join(', ')}; ${broken.length} keys broken`,
  );
  expect(broken, `seed ${SEED}`).toEqual([]);
  expect(history.length - unanswered).toBeGreaterThanOrEqual(ROUNDS * CALLS_PER_ROUND - unanswered);
  for (const kind of ['found', 'written', 'deleted', 'absent', 'exists', 'mismatch'])
    expect([...kinds.keys()]).toContain(kind);
});
