import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, ApiClient, type CallOptions, type Json } from '../support/harness/api-client.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { inTier } from '../support/fault-tier.ts';
import { markedBody, markerOf, readWhole } from '../support/marked-deployments.ts';
import { Dice } from '../support/openapi-fuzz.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/**
 * F-02: three control planes on three etcd members, one of which is killed (kill -9) again and again under eight writers. A writer
 * whose answer is lost asks another one: again with the same Idempotency-Key where something is made, and with If-Match where
 * something is changed. So each knows in the end what it did, and the store has exactly that, once.
 */

const KILLS = inTier({ usual: 3, long: 100 });
const SEED = Number(process.env['KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const WRITERS = 8;
const BETWEEN_MS = 400;
const PAUSE_MS = 20;
/** So many calls are given up by their writer while they are under way, and sent again beside themselves. */
const GIVE_UP = 0.2;
const GIVE_UP_MS = 30;
/** How long nobody may answer a writer: the store has a leader and two control planes live all the time. */
const PATIENCE_MS = 30_000;

let etcd: Etcd;
let planes: Planes;
let pushed: PushedImageRegistry;
let apis: readonly ApiClient[] = [];

beforeAll(async () => {
  [etcd, pushed] = await Promise.all([startEtcd({ members: 3 }), startPushedImage()]);
  planes = await startPlanes(etcd, 3, {
    BERTH_REGISTRIES_ALLOW_PRIVATE: pushed.config['registries.allowPrivate'].join(','),
  });
  const { token } = await planes.first.tenant('shop');
  apis = planes.addresses.map((url) => new ApiClient(url, token));
});
afterAll(async () => {
  for (const api of apis) api.close();
  await planes?.stop();
  await pushed?.stop();
  await etcd?.stop();
});

interface Made {
  marker: string;
  tag: string;
  changes: number;
  /** Ids of its backups, each as the one answer said that counted. */
  readonly backups: string[];
}

class Writer {
  readonly made = new Map<string, Made>();
  acknowledged = 0;
  /** Calls whose answer was lost or not known, and how many of them had been stored all the same. */
  lost = 0;
  found = 0;
  readonly #number: number;
  readonly #dice: Dice;
  #turn = 0;

  constructor(number: number) {
    this.#number = number;
    this.#dice = new Dice(SEED + number);
  }

  async write(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      const name = this.#dice.pick([...this.made.keys()]) as string | undefined;
      const drawn = this.#dice.next();
      if (name === undefined || drawn < 0.3) await this.#create();
      else if (drawn < 0.45) await this.#backUp(name);
      else await this.#change(name);
      this.acknowledged += 1;
    }
  }

  /** An answer that says what happened; undefined: it is not known. */
  async #try(method: string, path: string, options: CallOptions): Promise<Answer | undefined> {
    // A call fails when the process is killed under it, or nobody listens there now.
    const sent = this.#dice
      .pick(apis)
      .send(method, path, options)
      .catch(() => undefined);
    const gaveUp = this.#dice.chance(GIVE_UP)
      ? delay(this.#dice.below(GIVE_UP_MS)).then(() => undefined)
      : sent;
    const answer = await Promise.race([sent, gaveUp]);
    if (answer !== undefined && answer.status !== 503) return answer;
    this.lost += 1;
    await delay(PAUSE_MS);
    return undefined;
  }

  async #settled(method: string, path: string, options: CallOptions): Promise<Answer> {
    const untilMs = performance.now() + PATIENCE_MS;
    while (performance.now() < untilMs) {
      const answer = await this.#try(method, path, options);
      if (answer === undefined) continue;
      if (answer.headers['idempotency-replayed'] === 'true') this.found += 1;
      return answer;
    }
    throw new Error(`nobody answered ${method} ${path}`);
  }

  #marker(): string {
    this.#turn += 1;
    return `w${this.#number}-${this.#turn}`;
  }

  async #create(): Promise<void> {
    const marker = this.#marker();
    const name = `d-${marker}`;
    const answer = await this.#settled('POST', '/api/v1/deployments', {
      body: { name, image: pushed.image, replicas: 0, ...markedBody(marker) },
      headers: { 'idempotency-key': `create-${name}` },
    });
    if (answer.status !== 201) throw new Error(`${name} was refused: ${answer.text}`);
    this.made.set(name, { marker, tag: String(answer.headers['etag']), changes: 0, backups: [] });
  }

  async #backUp(name: string): Promise<void> {
    const answer = await this.#settled('POST', '/api/v1/backups', {
      body: { deploymentName: name },
      headers: { 'idempotency-key': `backup-${this.#marker()}` },
    });
    if (answer.status !== 201) throw new Error(`a backup of ${name} was refused: ${answer.text}`);
    this.made.get(name)?.backups.push(String(answer.body['id']));
  }

  /** Nobody else writes the record: a tag that moved means that the change whose answer was lost is in it. */
  async #change(name: string): Promise<void> {
    const record = this.made.get(name);
    if (record === undefined) return;
    const marker = this.#marker();
    const path = `/api/v1/deployments/${name}`;
    let answer = await this.#settled('PUT', path, {
      body: markedBody(marker),
      headers: { 'if-match': record.tag },
    });
    if (answer.status === 412) {
      answer = await this.#settled('GET', path, {});
      if (markerOf(answer.body).marker !== marker) throw new Error(`${name} was changed by nobody`);
      this.found += 1;
    }
    if (answer.status !== 200) throw new Error(`${name} was refused: ${answer.text}`);
    record.marker = marker;
    record.tag = String(answer.headers['etag']);
    record.changes += 1;
  }
}

interface Losses {
  readonly lost: string[];
  readonly torn: string[];
  readonly twice: string[];
  readonly phantom: string[];
}

async function compare(writers: readonly Writer[], api: ApiClient): Promise<Losses> {
  const losses: Losses = { lost: [], torn: [], twice: [], phantom: [] };
  const known = new Map(writers.flatMap(({ made }) => [...made]));
  const stored = new Map(
    (await readWhole(api, '/api/v1/deployments')).map((one) => [String(one['name']), one]),
  );
  for (const [name, { marker }] of known) {
    const record = stored.get(name);
    if (record === undefined || markerOf(record).marker !== marker) losses.lost.push(name);
    else if (markerOf(record).torn) losses.torn.push(name);
  }
  for (const name of stored.keys()) if (!known.has(name)) losses.phantom.push(name);
  const backups = (await readWhole(api, '/api/v1/backups')).map(({ id }) => String(id));
  const wanted = new Set([...known.values()].flatMap((one) => one.backups));
  losses.lost.push(...[...wanted].filter((id) => !backups.includes(id)));
  losses.twice.push(...backups.filter((id) => !wanted.has(id)));
  return losses;
}

/** One version and one event for each change that a writer knows of, and no more. */
async function repeated(writers: readonly Writer[], api: ApiClient): Promise<string[]> {
  const twice: string[] = [];
  const created: Json[] = await readWhole(api, '/api/v1/events?kind=deployment.created');
  const events = Map.groupBy(created, ({ subject }) => String((subject as Json)['name']));
  for (const { made } of writers)
    for (const [name, { changes }] of made) {
      const versions = await readWhole(api, `/api/v1/archives/deployments/${name}`);
      if (versions.length !== changes + 1)
        twice.push(`${name}: ${versions.length} versions of ${changes + 1}`);
      if ((events.get(name)?.length ?? 0) > 1) twice.push(`${name}: created twice`);
    }
  return twice;
}

it(`${KILLS} kills of control planes on etcd lose nothing and double nothing`, {
  timeout: inTier({ usual: 240_000, long: 3_600_000 }),
}, async () => {
  const dice = new Dice(SEED);
  const writers = Array.from({ length: WRITERS }, (_, number) => new Writer(number));
  for (let kill = 0; kill < KILLS; kill += 1) {
    let stopped = false;
    const writing = Promise.all(writers.map((writer) => writer.write(() => stopped)));
    writing.catch(() => undefined);
    await delay(BETWEEN_MS + dice.below(BETWEEN_MS));
    const killed = dice.pick(planes.members);
    await killed.end('SIGKILL');
    await delay(BETWEEN_MS);
    stopped = true;
    await writing;
    await killed.start();
    const losses = await compare(writers, dice.pick(apis));
    expect(losses, `seed ${SEED}, kill ${kill}`).toEqual({ lost: [], torn: [], twice: [], phantom: [] });
  }
  const twice = await repeated(writers, dice.pick(apis));
  const sum = (of: 'acknowledged' | 'lost' | 'found'): number =>
    writers.reduce((all, writer) => all + writer[of], 0);
  console.log(
    `F-02, seed ${SEED}: ${KILLS} kills, ${sum('acknowledged')} acknowledged writes, ${sum('lost')} answers lost or refused ` +
      `(${sum('found')} of them were stored), 0 lost, 0 torn, 0 phantom, ${twice.length} twice`,
  );
  expect(twice).toEqual([]);
  expect(sum('acknowledged')).toBeGreaterThan(KILLS * WRITERS);
  expect(sum('lost')).toBeGreaterThan(0);
});
