import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveEnvironment } from '../../src/server/secrets/resolve.ts';
import type { SecretsStore } from '../../src/server/secrets/port.ts';
import type { Answer, CallOptions, Json } from '../support/harness/api-client.ts';
import { secretsOf, startDefectiveServer } from '../support/defective-write.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import {
  type ControlPlane,
  spawnControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';
import { inTier } from '../support/fault-tier.ts';

const ROUNDS = inTier({ usual: 30, long: 200 });

/** Phases in order, one winner of a race, no moment without a valid credential, nothing persists. */

const DEPLOYMENTS = '/api/v1/deployments';
const PHASES = ['stage', 'promote', 'retire'] as const;
let pushed: PushedImageRegistry;
let plane: ControlPlane;
let shop: TestTenant;
let secrets: SecretsStore;
let count = 0;

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await startControlPlane({ config: pushed.config });
  shop = await plane.tenant('shop');
  secrets = await secretsOf(plane);
});
afterAll(async () => {
  await secrets.close();
  await plane.close();
  await pushed.stop();
});

const call = (method: string, path: string, options: CallOptions = {}) =>
  plane.api.call(method, path, { token: shop.tokens['tenant-admin'], ...options });
const fresh = (prefix = 'app') => `${prefix}-${(count += 1)}`;

async function create(fields: Json): Promise<string> {
  const name = fresh();
  const answer = await call('POST', DEPLOYMENTS, { body: { name, image: pushed.image, ...fields } });
  expect(answer.status, answer.text).toBe(201);
  return name;
}

const rotate = (name: string, body: Json, laws = true) =>
  call('POST', `${DEPLOYMENTS}/${name}/secrets/rotate`, { body, laws });

/** What a container that is created now would get. */
async function delivered(name: string): Promise<Readonly<Record<string, string>>> {
  const record = plane.store.forTenant(shop.id).get('deployments', name)?.record;
  if (record === undefined) throw new Error(`${name} is not stored`);
  const resolved = await resolveEnvironment(secrets, shop.id, record.spec, {
    rotation: record.rotation,
    credential: (path) =>
      plane.store.forTenant(shop.id).get('credentials', `${path.namespace}/${path.label}`)?.record,
  });
  if (!resolved.ok) throw new Error(resolved.message);
  return Object.fromEntries([...resolved.env].map(([variable, value]) => [variable, value.reveal()]));
}

const status = (answer: Answer) => answer.body['status'] as { rotation: Json; secretsVersion: number };

describe('the phases', () => {
  it('overlap, so that there is always a valid credential, and raise secretsVersion by one each', async () => {
    const name = await create({
      secrets: [
        {
          name: 'DB',
          vault_path: `resources/${fresh('doc')}`,
          anchor: 'process',
          generate: { keys: ['password'] },
        },
      ],
    });
    const old = (await delivered(name))['DB_password'];
    const staged = await rotate(name, { phase: 'stage' });
    expect(status(staged)).toMatchObject({
      rotation: { phase: 'stage', next: 'promote' },
      secretsVersion: 1,
    });
    const during = await delivered(name);
    expect(Object.keys(during).sort()).toEqual(['DB_password', 'DB_password_NEXT']);
    expect(during['DB_password']).toBe(old);
    expect(during['DB_password_NEXT']).not.toBe(old);
    const promoted = await rotate(name, { phase: 'promote' });
    expect(status(promoted)).toMatchObject({
      rotation: { phase: 'promote', next: 'retire' },
      secretsVersion: 2,
    });
    expect(await delivered(name)).toEqual({
      DB_password: during['DB_password_NEXT'],
      DB_password_PREVIOUS: old,
    });
    const retired = await rotate(name, { phase: 'retire' });
    expect(status(retired)).toMatchObject({
      rotation: { phase: 'retire', next: 'stage' },
      secretsVersion: 3,
    });
    expect(await delivered(name)).toEqual({ DB_password: during['DB_password_NEXT'] });
    expect(staged.body['specHash']).not.toBe(promoted.body['specHash']);
  });

  it('take sent material, and mint nothing for an external credential', async () => {
    const path = `resources/${fresh('doc')}`;
    const name = await create({
      secrets: [{ name: 'API', vault_path: path, values: { key: 'first-value' } }],
    });
    await rotate(name, { phase: 'stage', values: { key: 'second-value' } });
    expect(await delivered(name)).toEqual({ API_key: 'first-value', API_key_NEXT: 'second-value' });
    await rotate(name, { phase: 'promote' });
    expect(await delivered(name)).toEqual({ API_key: 'second-value', API_key_PREVIOUS: 'first-value' });
    await rotate(name, { phase: 'retire' });
    await call('PUT', `/api/v1/secrets/${path}`, { body: { values: { key: 'third-value' } } });
    expect(await delivered(name)).toEqual({ API_key: 'third-value' });
    const staged = await rotate(name, { phase: 'stage' });
    expect(staged.body['warnings']).toMatchObject([{ code: 'secret_nothing_newer' }]);
    expect(await delivered(name)).toEqual({ API_key: 'third-value', API_key_NEXT: 'third-value' });
  });

  it('keep their place when the spec is updated in between', async () => {
    const name = await create({
      secrets: [{ name: 'DB', vault_path: `resources/${fresh('doc')}`, values: { a: 'one' } }],
    });
    await rotate(name, { phase: 'stage', values: { a: 'two' } });
    await call('PUT', `${DEPLOYMENTS}/${name}`, { body: { replicas: 0 } });
    expect(await delivered(name)).toEqual({ DB_a: 'one', DB_a_NEXT: 'two' });
    expect((await rotate(name, { phase: 'retire' })).body['expected']).toBe('promote');
    expect((await rotate(name, { phase: 'promote' })).status).toBe(200);
  });

  it('do not carry versions over to another document', async () => {
    const name = await create({
      secrets: [{ name: 'DB', vault_path: `resources/${fresh('doc')}`, values: { a: 'one' } }],
    });
    await rotate(name, { phase: 'stage', values: { a: 'two' } });
    const other = `resources/${fresh('doc')}`;
    await call('PUT', `/api/v1/secrets/${other}`, { body: { values: { a: 'elsewhere' } } });
    await call('PUT', `${DEPLOYMENTS}/${name}`, { body: { secrets: [{ name: 'DB', vault_path: other }] } });
    expect(await delivered(name)).toEqual({ DB_a: 'elsewhere' });
  });

  it(`C-05: of eight parallel calls exactly one is accepted, in ${ROUNDS} rounds`, async () => {
    const name = await create({
      secrets: [
        {
          name: 'DB',
          vault_path: `resources/${fresh('doc')}`,
          anchor: 'process',
          generate: { keys: ['password'] },
        },
      ],
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      const phase = PHASES[round % 3] ?? 'stage';
      const answers = await Promise.all(Array.from({ length: 8 }, () => rotate(name, { phase }, false)));
      const accepted = answers.filter((answer) => answer.status === 200);
      const refused = answers.filter((answer) => answer.body['code'] === 'rotation_transition_invalid');
      expect(
        [accepted.length, refused.length],
        answers.map((answer) => answer.text.slice(0, 200)).join('\n'),
      ).toEqual([1, 7]);
      const read = await call('GET', `${DEPLOYMENTS}/${name}`);
      expect(read.body['secretsVersion']).toBe(round + 1);
      expect(Object.keys(await delivered(name)).length).toBeGreaterThan(0);
    }
  });

  it('continue where they were after a kill -9 between any two', { timeout: 300_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-rotation-'));
    try {
      const start = () => spawnControlPlane({ dataDir, config: { ...pushed.config, logLevel: 'error' } });
      let running = await start();
      const secret = {
        name: 'DB',
        vault_path: 'resources/db',
        anchor: 'process',
        generate: { keys: ['password'] },
      };
      const made = await running.api.send('POST', DEPLOYMENTS, {
        body: { name: 'web', image: pushed.image, replicas: 0, secrets: [secret] },
      });
      expect(made.status, made.text).toBe(201);
      for (const [index, phase] of [...PHASES, 'stage' as const].entries()) {
        await running.kill();
        running = await start();
        const wrong = PHASES[(index + 1) % 3];
        const refused = await running.api.send('POST', `${DEPLOYMENTS}/web/secrets/rotate`, {
          body: { phase: wrong },
        });
        expect([refused.status, refused.body['expected']]).toEqual([409, phase]);
        const accepted = await running.api.send('POST', `${DEPLOYMENTS}/web/secrets/rotate`, {
          body: { phase },
        });
        expect(accepted.status, accepted.text).toBe(200);
        expect(accepted.body['secretsVersion']).toBe(index + 1);
      }
      await running.kill();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('races', () => {
  it('let one namespace have a label, in 20 rounds', async () => {
    for (let round = 0; round < 20; round += 1) {
      const label = fresh('label');
      const answers = await Promise.all(
        ['resources', 'deployments', 'resources', 'deployments'].map((namespace) =>
          call('POST', DEPLOYMENTS, {
            body: {
              name: fresh(),
              image: pushed.image,
              secrets: [{ name: 'A', vault_path: `${namespace}/${label}` }],
            },
            laws: false,
          }),
        ),
      );
      const accepted = answers.filter((answer) => answer.status === 201);
      const namespaces = new Set(
        accepted.map((answer) => (answer.body['secrets'] as Json[])[0]?.['vault_path']),
      );
      expect(
        [accepted.length, namespaces.size],
        answers.map((answer) => answer.text.slice(0, 150)).join('\n'),
      ).toEqual([2, 1]);
    }
  });

  it('number the versions of parallel writes of one document without a gap', async () => {
    const path = `/api/v1/secrets/resources/${fresh('doc')}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call('PUT', path, { body: { values: { a: `value-${index}` } }, laws: false }),
      ),
    );
    const versions = answers
      .filter((answer) => answer.status < 300)
      .map((answer) => Number(answer.body['version']));
    expect(
      versions.toSorted((a, b) => a - b),
      answers.map((answer) => answer.text.slice(0, 150)).join('\n'),
    ).toEqual(Array.from({ length: 8 }, (_, index) => index + 1));
  });
});

describe('the persist guards', () => {
  it.each(['values', 'generate'])('store nothing when a defect lets %s through', async (kind) => {
    const defective = await startDefectiveServer(plane);
    try {
      const name = fresh();
      const answer = await defective.api.post(
        DEPLOYMENTS,
        { name, image: pushed.image, labels: { defect: kind } },
        { token: shop.tokens['tenant-admin'] },
      );
      const code = kind === 'values' ? 'secret_material_would_persist' : 'secret_generate_would_persist';
      expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([
        500,
        code,
        `secrets[0].${kind}`,
      ]);
      expect(answer.text).not.toContain('planted-material');
      expect((await call('GET', `${DEPLOYMENTS}/${name}`)).status).toBe(404);
      for (const prefix of ['h/', 'c/'])
        for (const { key, value } of (await plane.store.kv.range(prefix)).entries)
          expect(`${key} ${value}`.includes('planted'), key).toBe(false);
    } finally {
      await defective.close();
    }
  });
});
