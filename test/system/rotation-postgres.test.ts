import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { inTier } from '../support/fault-tier.ts';
import { postgresImage } from '../support/harness/postgres-image.ts';

/** Two consumers share a credential and rotate one after the other; a real PostgreSQL says what is valid. */

const run = promisify(execFile);
const PSQL = '/usr/lib/postgresql/15/bin/psql';
const POSTGRES = 'berth.test/postgres:15';
const ROTATIONS = inTier({ usual: 1, long: 50 });
const WAIT_MS = 180_000;
/** Ends at once when it is told to. */
const CONSUMER = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 60 & wait $!; done'];

interface Login {
  readonly user: string;
  readonly password: string;
}

const ADMIN: Login = { user: 'postgres', password: randomBytes(12).toString('hex') };

let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;
let address: string;

/** A real login; what the server refuses is an answer, anything else a fault of the test. */
async function query({ user, password }: Login, sql: string): Promise<'ok' | 'refused'> {
  const line = [
    PSQL,
    '-X',
    '-q',
    '-v',
    'ON_ERROR_STOP=1',
    '-h',
    address,
    '-U',
    user,
    '-d',
    'postgres',
    '-c',
    sql,
  ];
  const [command, args] = node.engine.namespace?.command(line) ?? [PSQL, line.slice(1)];
  try {
    await run(command, [...args], { env: { ...process.env, PGPASSWORD: password, PGCONNECT_TIMEOUT: '20' } });
    return 'ok';
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    if (/password authentication failed|is not permitted to log in/.test(stderr)) return 'refused';
    throw new Error(`psql: ${stderr}`, { cause: error });
  }
}

/** Whatever a container holds of the credential: the plain variables, and the staged or earlier ones. */
function loginsOf(environment: readonly string[]): readonly Login[] {
  const value = new Map(
    environment.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  );
  return ['', '_NEXT', '_PREVIOUS'].flatMap((suffix) => {
    const user = value.get(`DB_user${suffix}`);
    const password = value.get(`DB_password${suffix}`);
    return user === undefined || password === undefined ? [] : [{ user, password }];
  });
}

interface Consumer {
  readonly id: string;
  readonly name: string;
  readonly logins: readonly Login[];
}

async function running(): Promise<readonly Consumer[]> {
  const containers = [...(await node.containers('one')), ...(await node.containers('two'))];
  const seen = await Promise.all(
    containers.map(async ({ id, name }) => ({ name, told: await node.inspect(id).catch(() => undefined) })),
  );
  return seen.flatMap(({ name, told }) =>
    told?.State?.Running === true ? [{ id: told.Id, name, logins: loginsOf(told.Config.Env) }] : [],
  );
}

async function isServed({ logins }: Consumer): Promise<boolean> {
  for (const login of logins) if ((await query(login, 'select 1')) === 'ok') return true;
  return false;
}

/** Asks for every running container, again and again, whether the database takes one of its values. */
class Watch {
  readonly violations: string[] = [];
  rounds = 0;
  logins = 0;
  #over = false;
  readonly #done: Promise<void>;

  constructor() {
    this.#done = this.#watch();
    this.#done.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#done;
  }

  async #watch(): Promise<void> {
    while (!this.#over) {
      const all = await running();
      const served = await Promise.all(all.map(isServed));
      const doubted = all.filter((_, at) => served[at] === false);
      this.rounds += 1;
      this.logins += all.length;
      if (doubted.length > 0) await this.#confirm(doubted);
    }
  }

  /** It may have been stopped between the look and the login. */
  async #confirm(doubted: readonly Consumer[]): Promise<void> {
    const still = (await running()).filter(({ id }) => doubted.some((one) => one.id === id));
    for (const consumer of still)
      if (!(await isServed(consumer)))
        this.violations.push(`${consumer.name} holds ${consumer.logins.map(({ user }) => user).join(', ')}`);
  }
}

type Phase = 'stage' | 'promote' | 'retire';

const rotate = (name: string, phase: Phase, more: object = {}) =>
  shop.call('POST', `/api/v1/deployments/${name}/secrets/rotate`, { phase, ...more });

/** Asked again while a rollout is under way; any other refusal ends it. */
async function advanced(name: string, phase: Phase, more: object = {}): Promise<void> {
  const { status, body } = await eventually(
    `${name} takes ${phase}`,
    () => rotate(name, phase, more),
    (answer) => answer.body.code !== 'rotation_rollout_incomplete',
    WAIT_MS,
  );
  expect([name, phase, status, body.code]).toEqual([name, phase, 200, undefined]);
}

let changes = 0;

/** The other consumer is scaled, restarted with another environment, and its containers are killed, all at once. */
async function disturb(name: string): Promise<void> {
  changes += 1;
  const pids = Object.values(await node.pids(name));
  await cluster.update(shop, name, { replicas: 1 + (changes % 2), environment: { CHANGE: String(changes) } });
  for (const pid of pids) if (pid > 0) kill(pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

beforeAll(async () => {
  const { files } = postgresImage();
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('data-1', shop, {
    images: {
      [POSTGRES]: { entries: files ?? [], changes: ['USER postgres', 'CMD ["postgres-start"]'] },
    },
  });
  await shop.call('PUT', '/api/v1/secrets/resources/pg', { values: { PASSWORD: ADMIN.password } });
  await cluster.deploy(shop, {
    name: 'pg',
    image: POSTGRES,
    command: ['postgres-start'],
    secrets: [{ name: 'POSTGRES', vault_path: 'resources/pg', anchor: 'external' }],
    healthCheck: { type: 'exec', command: ['pg_isready -q -h 127.0.0.1'], interval: '1s', retries: 3 },
  });
  await cluster.phase(shop, 'pg', 'Running', WAIT_MS);
  const [container] = await node.containers('pg');
  const { NetworkSettings } = await node.inspect(container?.id ?? '');
  const [network] = Object.values(NetworkSettings.Networks) as { readonly IPAddress: string }[];
  address = network?.IPAddress ?? '';
  for (const role of ['shop_a', 'shop_b'])
    expect(await query(ADMIN, `create role ${role} nologin`)).toBe('ok');
}, 300_000);

afterAll(async () => {
  await cluster.stop();
});

/** Both roles in turn: the next one is made valid beside the one in use. */
function login(turn: number): Login {
  return {
    user: turn % 2 === 0 ? 'shop_a' : 'shop_b',
    password: `v${turn}-${randomBytes(8).toString('hex')}`,
  };
}

const enable = ({ user, password }: Login) => query(ADMIN, `alter role ${user} login password '${password}'`);
const disable = ({ user }: Login) => query(ADMIN, `alter role ${user} nologin password null`);

async function turnOver(old: Login, next: Login): Promise<void> {
  expect(await enable(next)).toBe('ok');
  await advanced('one', 'stage', { values: { ...next } });
  await disturb('two');
  await advanced('two', 'stage');
  await disturb('one');
  await advanced('one', 'promote');
  await disturb('two');
  // `two` may still have containers with nothing but the old one.
  expect((await rotate('one', 'retire')).body.code).toBe('rotation_rollout_incomplete');
  await advanced('two', 'promote');
  await disturb('one');
  await advanced('one', 'retire');
  expect(await disable(old)).toBe('ok');
  await disturb('two');
  await advanced('two', 'retire');
}

describe('a credential that two deployments share', () => {
  it(
    `is rotated ${ROTATIONS} times, and PostgreSQL takes a value of every running container throughout`,
    async () => {
      let current = login(0);
      expect(await enable(current)).toBe('ok');
      await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { ...current } });
      for (const name of ['one', 'two'])
        await cluster.deploy(shop, {
          name,
          replicas: 2,
          command: CONSUMER,
          secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }],
          healthCheck: { type: 'exec', command: ['test -n "$DB_password"'], interval: '400ms', retries: 3 },
        });
      for (const name of ['one', 'two']) await cluster.phase(shop, name, 'Running', WAIT_MS);
      const watch = new Watch();
      for (let turn = 1; turn <= ROTATIONS; turn += 1) {
        const next = login(turn);
        await turnOver(current, next);
        // The watch can see a refusal: what was disabled is refused.
        expect(await query(current, 'select 1')).toBe('refused');
        current = next;
        expect(watch.violations).toEqual([]);
      }
      await eventually(
        'every container holds the last one alone',
        running,
        (all) => all.length > 0 && all.every(({ logins }) => isDeepStrictEqual(logins, [current])),
        WAIT_MS,
      );
      await watch.stop();
      expect(watch.violations).toEqual([]);
      expect(watch.rounds).toBeGreaterThan(ROTATIONS);
      console.log(`${ROTATIONS} rotations, ${watch.rounds} looks at ${watch.logins} containers`);
    },
    ROTATIONS * 180_000,
  );
});
