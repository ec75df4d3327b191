import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { DeliveringAgent } from '../support/agents/delivering-agent.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';

/** A credential, its consumers and what their containers hold, over the interface and an agent that asks for material. */

type Json = Readonly<Record<string, unknown>>;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: DeliveringAgent;
let count = 0;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  agent = new DeliveringAgent((await flow.connected('n1', shop)).agent);
});
afterAll(async () => {
  agent.stop();
  flow.close();
  await plane.close();
});

const fresh = (word: string) => `${word}${(count += 1)}`;
const read = async (name: string) => (await shop.call('GET', `/api/v1/deployments/${name}`)).body;
const write = (label: string, body: Json) => shop.call('PUT', `/api/v1/secrets/resources/${label}`, body);
const rotate = (name: string, phase: string, more: Json = {}) =>
  shop.call('POST', `/api/v1/deployments/${name}/secrets/rotate`, { phase, ...more });
const rotateAll = (label: string, phase: string, more: Json = {}) =>
  shop.call('POST', `/api/v1/secrets/resources/${label}/rotate`, { phase, ...more });
const entry = (label: string, more: Json = {}) => ({
  name: 'DB',
  vault_path: `resources/${label}`,
  anchor: 'external',
  ...more,
});

/** Every container of the deployment has what its spec says now. */
const settled = (name: string) =>
  eventually(
    () => read(name),
    ({ status, replicas, specHash }) =>
      ['Running', 'Stopped'].includes(status.phase) &&
      status.instances.length === replicas &&
      status.instances.every((one: { specHash: string }) => one.specHash === specHash) &&
      agent.of(name).length === replicas,
    30_000,
  );
const held = (name: string) => agent.of(name)[0];

async function consumer(label: string, more: Json = {}, secret: Json = {}): Promise<string> {
  const name = fresh('app');
  const healthCheck = { type: 'exec', command: ['probe'], retries: 3 };
  await deploy(shop.call, name, { healthCheck, secrets: [entry(label, secret)], ...more });
  await settled(name);
  return name;
}

async function document(values: Json = { password: 'one' }): Promise<string> {
  const label = fresh('doc');
  expect((await write(label, { values })).status).toBe(201);
  return label;
}

async function accepted(answer: ReturnType<TestTenant['call']>, ...names: readonly string[]) {
  const { status, body } = await answer;
  expect([status, body.code, body.why]).toEqual([200, undefined, undefined]);
  for (const name of names) await settled(name);
  return body;
}

const refusal = async (answer: ReturnType<TestTenant['call']>) => {
  const { code, expected, why } = (await answer).body;
  return { code, expected, why };
};
const codes = (body: Awaited<ReturnType<TestTenant['call']>>['body']): string[] =>
  body.warnings
    .map(({ code }: { code: string }) => code)
    .filter((code: string) => code.startsWith('secret_'));

describe('a credential with two consumers', () => {
  it('is rotated by each of them, and nobody gets what is staged outside its own rotation', async () => {
    const label = await document();
    const [web, api] = [await consumer(label), await consumer(label)];
    const staged = await accepted(rotate(web, 'stage', { values: { password: 'two' } }), web);
    expect(codes(staged)).toEqual(['secret_shared']);
    expect(staged.warnings[0].why).toContain(api);
    expect(held(web)).toEqual({ DB_password: 'one', DB_password_NEXT: 'two' });
    agent.kill(api);
    await shop.call('PUT', `/api/v1/deployments/${api}`, { replicas: 2 });
    await settled(api);
    expect(agent.of(api)).toEqual([{ DB_password: 'one' }, { DB_password: 'one' }]);
    await accepted(rotate(web, 'promote'), web);
    expect(held(web)).toEqual({ DB_password: 'two', DB_password_PREVIOUS: 'one' });

    const early = await refusal(rotate(web, 'retire'));
    expect(early.code).toBe('rotation_rollout_incomplete');
    const instances = await flow.instances(shop, api, 2);
    for (const { id } of instances) expect(early.why).toContain(id);
    expect(early.why).toContain(api);

    await accepted(rotate(api, 'stage'), api);
    expect(held(api)).toEqual({ DB_password: 'one', DB_password_NEXT: 'two' });
    expect((await refusal(rotate(web, 'retire'))).why).toContain(`${api} has not promoted`);
    await accepted(rotate(api, 'promote'), api);
    const late = await consumer(label);
    expect(held(late)).toEqual({ DB_password: 'two' });
    await accepted(rotate(web, 'retire'), web);
    expect((await refusal(rotate(api, 'abort'))).expected).toBe('retire');
    await accepted(rotate(api, 'retire'), api);
    for (const name of [web, api, late]) expect(held(name)).toEqual({ DB_password: 'two' });
    const { body } = await shop.call('GET', `/api/v1/secrets/resources/${label}`);
    expect(body).toMatchObject({ version: 2, current: 2 });
    expect(body.rotation).toBeUndefined();
  });

  it('is taken through the phases whole, all or nothing, and takes along who comes later', async () => {
    const label = await document();
    const [web, api] = [await consumer(label), await consumer(label)];
    const staged = await accepted(rotateAll(label, 'stage', { values: { password: 'two' } }), web, api);
    expect(staged).toMatchObject({ phase: 'stage', next: 'promote', version: 1 });
    expect(staged.consumers).toEqual([
      { deployment: web, secretsVersion: 1 },
      { deployment: api, secretsVersion: 1 },
    ]);
    for (const name of [web, api]) expect(Object.keys(held(name) ?? {})).toContain('DB_password_NEXT');
    const late = await consumer(label);
    expect(held(late)).toEqual({ DB_password: 'one' });
    expect((await refusal(rotateAll(label, 'promote'))).why).toContain(`${late} has not taken part`);
    expect((await read(web)).secretsVersion).toBe(1);
    await accepted(rotateAll(label, 'stage'), late);
    await accepted(rotateAll(label, 'promote'), web, api, late);
    const done = await accepted(rotateAll(label, 'retire'), web, api, late);
    expect(done).toMatchObject({ next: 'stage', version: 2 });
    for (const name of [web, api, late]) expect(held(name)).toEqual({ DB_password: 'two' });
  });

  it('takes no variable of a name that its rotation delivers, and does so again afterwards', async () => {
    const label = await document();
    const [web, other] = [await consumer(label), await consumer(label)];
    const put = async (name: string, body: Json) => {
      const answer = await shop.call('PUT', `/api/v1/deployments/${name}`, body);
      return [answer.status, answer.body.code, answer.body.field];
    };
    const environment = { DB_password_PREVIOUS: 'https://example.org' };
    await accepted(rotate(web, 'stage', { values: { password: 'two' } }), web);
    const refused = [422, 'secret_environment_collision', 'environment.DB_password_PREVIOUS'];
    expect(await put(web, { environment })).toEqual(refused);
    expect(
      await put(web, { composedEnvironment: { DB_password_NEXT: `x{{secret.${label}.password}}` } }),
    ).toEqual([422, 'secret_environment_collision', 'composedEnvironment.DB_password_NEXT']);
    // Whoever takes no part is given no such name.
    expect(await put(other, { environment })).toEqual([200, undefined, undefined]);
    expect(await put(web, { replicas: 0 })).toEqual([200, undefined, undefined]);
    await accepted(rotate(web, 'abort'), web);
    expect(await put(web, { environment })).toEqual([200, undefined, undefined]);
  });

  it.each(['stage', 'promote'])('goes back from %s', async (last) => {
    const label = await document();
    const [web, api] = [await consumer(label), await consumer(label)];
    await accepted(rotateAll(label, 'stage', { values: { password: 'two' } }), web, api);
    if (last === 'promote') await accepted(rotateAll(label, 'promote'), web, api);
    expect((await refusal(write(label, { values: { password: 'three' } }))).code).toBe(
      'secret_rotation_in_progress',
    );
    await accepted(rotateAll(label, 'abort'), web, api);
    for (const name of [web, api]) expect(held(name)).toEqual({ DB_password: 'one' });
    expect((await refusal(rotateAll(label, 'abort'))).code).toBe('rotation_transition_invalid');
    await accepted(rotateAll(label, 'stage', { values: { password: 'three' } }), web, api);
    expect(held(api)).toEqual({ DB_password: 'one', DB_password_NEXT: 'three' });
  });

  it('of which one is a canary alone does not move its deployment, and waits for it', async () => {
    const label = await document();
    const name = await consumer(await document());
    const { secretsVersion, status } = await read(name);
    const canary = (phase: string, body?: Json) =>
      shop.call('POST', `/api/v1/deployments/${name}/canary${phase}`, body);
    const spec = { secrets: [{ ...entry(label), name: 'C' }] };
    const beside = (more: Json) =>
      eventually(
        () => agent.of(name),
        (held) => held.some((one) => Object.entries(more).every(([key, value]) => one[key] === value)),
      );
    expect((await canary('', { spec })).status).toBe(201);
    await beside({ C_password: 'one' });

    const staged = await accepted(rotateAll(label, 'stage', { values: { password: 'two' } }));
    expect([staged.consumers, staged.warnings.map(({ code }: { code: string }) => code)]).toEqual([[], []]);
    const untouched = await read(name);
    expect([untouched.secretsVersion, untouched.status.rotation]).toEqual([secretsVersion, status.rotation]);
    await accepted(rotateAll(label, 'promote'));
    const early = await refusal(rotateAll(label, 'retire'));
    expect([early.code, early.why]).toEqual(['rotation_rollout_incomplete', expect.stringContaining(name)]);
    expect((await canary('/abort')).status).toBe(200);
    await settled(name);
    await accepted(rotateAll(label, 'retire'));

    expect((await canary('', { spec })).status).toBe(201);
    await beside({ C_password: 'two' });
    expect(agent.of(name).flatMap((one) => Object.keys(one))).not.toContain('C_password_NEXT');
    expect((await canary('/abort')).status).toBe(200);
    await settled(name);
  });

  it('of two stages at once has one staged version', async () => {
    for (let round = 0; round < 5; round += 1) {
      const label = await document();
      const web = await consumer(label, { replicas: 0 });
      const answers = await Promise.all([
        rotateAll(label, 'stage', { values: { password: 'a' } }),
        rotateAll(label, 'stage', { values: { password: 'b' } }),
        rotate(web, 'stage', { values: { password: 'c' } }),
      ]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const { body } = await shop.call('GET', `/api/v1/secrets/resources/${label}`);
      expect(body).toMatchObject({ version: 2, current: 1, rotation: { phase: 'staged', next: 2 } });
    }
  });
});

describe('one consumer', () => {
  it('leaves a rotation with its entry, and comes back to what is in service', async () => {
    const label = await document();
    const [web, api] = [await consumer(label), await consumer(label)];
    await accepted(rotateAll(label, 'stage', { values: { password: 'two' } }), web, api);
    await accepted(shop.call('PUT', `/api/v1/deployments/${web}`, { secrets: [] }), web);
    await accepted(shop.call('PUT', `/api/v1/deployments/${web}`, { secrets: [entry(label)] }), web);
    expect(held(web)).toEqual({ DB_password: 'one' });
    await accepted(rotate(web, 'stage'), web);
    await accepted(rotateAll(label, 'promote'), web, api);
    await accepted(rotateAll(label, 'retire'), web, api);
    for (const name of [web, api]) expect(held(name)).toEqual({ DB_password: 'two' });
  });

  it('that fails to roll a phase out may ask for it again, or go back', async () => {
    const label = await document();
    const web = await consumer(label, {
      update: { progressDeadline: '10s', onFailure: 'leave' },
    });
    agent.sick.set(web, 1);
    expect((await rotate(web, 'stage', { values: { password: 'two' } })).status).toBe(200);
    await eventually(
      () => read(web),
      ({ status }) => status.phase === 'Degraded' && String(status.message).includes('the rollout failed'),
      30_000,
    );
    expect((await read(web)).status.rotation).toEqual({
      phase: 'stage',
      next: 'promote',
      delivered: { [`resources/${label}`]: { current: 1, next: 2 } },
    });
    expect((await refusal(rotate(web, 'promote'))).code).toBe('rotation_rollout_incomplete');
    const again = await rotate(web, 'stage');
    expect([again.status, again.body.secretsVersion]).toEqual([200, 2]);
    agent.sick.delete(web);
    await settled(web);
    expect(held(web)).toEqual({ DB_password: 'one', DB_password_NEXT: 'two' });
    await accepted(rotate(web, 'abort'), web);
    expect(held(web)).toEqual({ DB_password: 'one' });
  });

  it('is refused a stage whose names collide, and composed variables follow the rotation', async () => {
    const label = await document({ host: 'one' });
    const composedEnvironment = { URL: `pg://app:{{secret.${label}.host}}@db` };
    const web = await consumer(label, { composedEnvironment, environment: { DB_host_NEXT: 'mine' } });
    const refused = await refusal(rotate(web, 'stage', { values: { host: 'two' } }));
    expect(refused.code).toBe('secret_environment_collision');
    expect(refused.why).toContain('DB_host_NEXT');
    await accepted(shop.call('PUT', `/api/v1/deployments/${web}`, { environment: { URL_NEXT: 'x' } }), web);
    expect((await refusal(rotateAll(label, 'stage'))).code).toBe('secret_environment_collision');
    await accepted(shop.call('PUT', `/api/v1/deployments/${web}`, { environment: {} }), web);
    await accepted(rotate(web, 'stage', { values: { host: 'two' } }), web);
    expect(held(web)).toMatchObject({ URL: 'pg://app:one@db', URL_NEXT: 'pg://app:two@db' });
    await accepted(rotate(web, 'promote'), web);
    expect(held(web)).toMatchObject({ URL: 'pg://app:two@db', URL_PREVIOUS: 'pg://app:one@db' });
  });

  it('stages only what was generated, and says when there is nothing newer', async () => {
    const label = fresh('doc');
    await write(label, { values: { user: 'app' }, generate: { keys: ['password'] }, anchor: 'process' });
    const web = await consumer(label, {}, { anchor: 'process' });
    await accepted(rotate(web, 'stage'), web);
    const { DB_user, DB_user_NEXT, DB_password, DB_password_NEXT } = held(web) ?? {};
    expect([DB_user, DB_user_NEXT]).toEqual(['app', 'app']);
    expect(DB_password_NEXT).not.toBe(DB_password);
    expect(String(DB_password_NEXT)).toHaveLength(String(DB_password).length);
    const other = await consumer(await document());
    expect(codes(await accepted(rotate(other, 'stage'), other))).toEqual(['secret_nothing_newer']);
  });
});

describe('generated material of a process', () => {
  it('is made anew for a container that is alone, and shared by what runs at the same time', async () => {
    const label = fresh('doc');
    const generate = { keys: ['password'], length: 40, charset: 'alphanumeric' };
    await write(label, { values: { user: 'app' }, generate, anchor: 'process' });
    const web = await consumer(label, {}, { anchor: 'process' });
    const first = held(web)?.['DB_password'];
    agent.kill(web);
    await eventually(
      async () => held(web)?.['DB_password'],
      (now) => now !== undefined && now !== first,
    );
    await settled(web);
    const second = held(web)?.['DB_password'];
    expect(second).toHaveLength(40);
    expect(held(web)?.['DB_user']).toBe('app');
    const api = await consumer(label, { replicas: 3 }, { anchor: 'process' });
    expect(new Set(agent.of(api).map((one) => one['DB_password']))).toEqual(new Set([second]));
    agent.kill(web);
    await settled(web);
    expect(held(web)?.['DB_password']).toBe(second);
    await shop.call('PUT', `/api/v1/deployments/${web}`, { replicas: 0 });
    await shop.call('PUT', `/api/v1/deployments/${api}`, { replicas: 0 });
    await settled(web);
    await settled(api);
    await shop.call('PUT', `/api/v1/deployments/${api}`, { replicas: 4 });
    await settled(api);
    const after = new Set(agent.of(api).map((one) => one['DB_password']));
    expect(after.size).toBe(1);
    expect(after.has(second ?? '')).toBe(false);
  });

  it('is kept while one consumer holds on to it', async () => {
    const label = fresh('doc');
    await write(label, { generate: { keys: ['password'] } });
    const web = await consumer(label, {}, { anchor: 'process' });
    const value = held(web)?.['DB_password'];
    const api = await consumer(label, { replicas: 0 }, { anchor: 'external' });
    agent.kill(web);
    await settled(web);
    expect(held(web)?.['DB_password']).toBe(value);
    const minted = await write(label, { generate: { keys: ['password'] }, anchor: 'process' });
    expect(minted.body.alterations).toMatchObject([
      { field: 'generate.keys', from: 'password', to: '(kept)' },
    ]);
    const job = await shop.call('POST', '/api/v1/jobs', {
      kind: 'Job',
      name: fresh('job'),
      image: 'localhost:1/shop/web:1.0.0',
      schedule: '0 0 1 1 *',
      secrets: [entry(label, { anchor: 'process', generate: { keys: ['password'] } })],
    });
    expect(job.body.alterations.map(({ why }: { why: string }) => why).join()).toContain('kept as stored');
    agent.kill(web);
    await settled(web);
    expect(held(web)?.['DB_password']).toBe(value);
    expect((await read(api)).status.phase).toBe('Stopped');
  });
});

describe('what is not there', () => {
  it('is told on write', async () => {
    const label = fresh('doc');
    const composedEnvironment = { URL: `x{{secret.${label}.password}}` };
    const body = { name: fresh('app'), image: 'localhost:1/shop/web:1.0.0', replicas: 0 };
    const made = await shop.call('POST', '/api/v1/deployments', {
      ...body,
      secrets: [entry(label)],
      composedEnvironment,
    });
    expect(codes(made.body)).toEqual(['secret_missing']);
    await write(label, { values: { user: 'app' } });
    const path = `/api/v1/deployments/${body.name}`;
    const updated = await shop.call('PUT', path, { composedEnvironment });
    expect(codes(updated.body)).toEqual(['secret_key_missing']);
    await write(label, { values: { user: 'app', password: 'x' } });
    expect(codes((await shop.call('PUT', path, { composedEnvironment })).body)).toEqual([]);
  });
});

describe('a credential of a deployment and a job', () => {
  it('is rotated without a word about the job: that receives what is in service, and has nothing to stage', async () => {
    const label = await document();
    const web = await consumer(label);
    const job = {
      kind: 'Job',
      name: fresh('job'),
      image: 'localhost:1/shop/web:1.0.0',
      schedule: '0 0 1 1 *',
    };
    await shop.call('POST', '/api/v1/jobs', { ...job, secrets: [entry(label)] });
    expect(codes(await accepted(rotate(web, 'stage', { values: { password: 'two' } }), web))).toEqual([]);
    await accepted(rotate(web, 'promote'), web);
    await accepted(rotate(web, 'retire'), web);
  });
});
