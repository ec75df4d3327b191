import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { DatabaseAgent } from '../support/agents/database-agent.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import type { AgentIdentity } from '../support/agents/scripted-agent.ts';

const DB = '/api/v1/secrets/resources/db';
const HEALTH = { type: 'exec', command: ['wget -qO- localhost'] };
const ENTRY = { name: 'DB', vault_path: 'resources/db', anchor: 'external' };
const GENERATE = { user: { alternate: ['shop_a', 'shop_b'] }, password: { length: 40 } };

let pushed: PushedImageRegistry;
let plane: ControlPlane;
let flow: NodeFlow;
const start = (flags: readonly string[] = []) =>
  startControlPlane(flags, {
    BERTH_REGISTRIES_ALLOW_PRIVATE: pushed.config['registries.allowPrivate'].join(','),
  });
beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await start();
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
  await pushed.stop();
});

interface Shop {
  readonly tenant: TestTenant;
  readonly call: Caller;
  readonly database: DatabaseAgent;
  readonly identity: AgentIdentity;
}

/** Two roles in turn: `apply` makes one valid, `revoke` takes the other away. */
function twoRoles(database: DatabaseAgent): void {
  database.job = (name, env, roles) => {
    if (name === 'db-apply') roles.set(env['DB_user'] ?? '', env['DB_password'] ?? '');
    else if (env['DB_user_PREVIOUS'] !== undefined) roles.delete(env['DB_user_PREVIOUS']);
    return 0;
  };
}

async function job(call: Caller, name: string, more: object = {}): Promise<void> {
  const body = { kind: 'Job', name, image: pushed.image, secrets: [ENTRY], ...more };
  const { status, body: made } = await call('POST', '/api/v1/jobs', body);
  expect([status, made.code]).toEqual([201, undefined]);
}

const newestRun = async (
  call: Caller,
  name: string,
): Promise<{ readonly id?: string; readonly state?: string }> =>
  (await call('GET', `/api/v1/jobs/${name}`)).body.status?.runs[0] ?? {};

/** A tenant with a node, a database, a credential with hooks, and two deployments that read it. */
async function shop(slug: string, on = flow, at = plane): Promise<Shop> {
  const tenant = await at.tenant(slug);
  const { call } = tenant;
  const { agent, identity } = await on.connected(`${slug}-1`, tenant);
  const database = new DatabaseAgent(agent);
  twoRoles(database);
  expect((await call('PUT', DB, { generate: GENERATE })).status).toBe(201);
  for (const name of ['db-apply', 'db-revoke']) {
    await job(call, name);
    await eventually(
      () => newestRun(call, name),
      ({ state }) => state === 'Succeeded',
    );
  }
  expect([...database.roles.keys()]).toEqual(['shop_a']);
  expect((await call('PUT', `${DB}/hooks`, { apply: 'db-apply', revoke: 'db-revoke' })).status).toBe(200);
  for (const name of ['web', 'worker']) {
    await deploy(call, name, { image: pushed.image, secrets: [ENTRY], healthCheck: HEALTH });
    await running(call, name, 0);
  }
  return { tenant, call, database, identity };
}

async function running(call: Caller, name: string, secretsVersion: number): Promise<void> {
  await eventually(
    () => call('GET', `/api/v1/deployments/${name}`),
    ({ body: { status } }) =>
      status.phase === 'Running' && status.secretsVersion === secretsVersion && status.healthy === 1,
    20_000,
  );
  // The container that was replaced is gone, too.
  await eventually(
    () => call('GET', `/api/v1/deployments/${name}/instances`),
    ({ body }) => body.length === 1,
    20_000,
  );
}

/** Once the rollout of the phase before is complete: the old container is gone a moment after the new one is healthy. */
const rotate = (call: Caller, body: object) =>
  eventually(
    () => call('POST', `${DB}/rotate`, body),
    (answer) => answer.body.code !== 'rotation_rollout_incomplete',
    20_000,
  );

/** Asks until the phase is accepted, as a client that reads `hook` does. */
async function through(call: Caller, phase: string, body: object = {}) {
  return eventually(
    () => rotate(call, { phase, ...body }),
    (answer) => answer.status !== 200 || answer.body.phase === phase,
    20_000,
  );
}

async function accepted(call: Caller, phase: string, secretsVersion: number) {
  const answer = await through(call, phase);
  expect([answer.status, answer.body.phase, answer.body.why], JSON.stringify(answer.body)).toEqual([
    200,
    phase,
    undefined,
  ]);
  for (const name of ['web', 'worker']) await running(call, name, secretsVersion);
  return answer.body;
}

describe('a credential with hooks', () => {
  it('takes two roles in turn, and no client ever finds no login', async () => {
    const { call, database } = await shop('turns');
    let version = 0;
    for (const [old, now] of [
      ['shop_a', 'shop_b'],
      ['shop_b', 'shop_a'],
    ] as const) {
      const runsBefore = database.runs.length;
      await accepted(call, 'stage', (version += 1));
      // Nothing was changed outside before every container holds both.
      expect(database.runs).toHaveLength(runsBefore);
      expect(database.clients('web')).toMatchObject([{ DB_user: old, DB_user_NEXT: now }]);
      const asked = await rotate(call, { phase: 'promote' });
      expect(asked.body).toMatchObject({
        phase: 'stage',
        next: 'promote',
        hook: { hook: 'apply', job: 'db-apply', state: 'Pending' },
        consumers: [],
      });
      await accepted(call, 'promote', (version += 1));
      expect(database.runs.at(-1)).toMatchObject({
        job: 'db-apply',
        env: { DB_user: now, DB_user_PREVIOUS: old },
      });
      expect([...database.roles.keys()].sort()).toEqual(['shop_a', 'shop_b']);
      await accepted(call, 'retire', (version += 1));
      expect([...database.roles.keys()]).toEqual([now]);
      expect(database.clients('worker')).toMatchObject([{ DB_user: now }]);
      expect(Object.keys(database.clients('worker')[0] ?? {}).sort()).toEqual(['DB_password', 'DB_user']);
    }
    expect(database.lockedOut).toEqual([]);
    const { body } = await call('GET', DB);
    expect(body).toMatchObject({ hooks: { apply: 'db-apply', revoke: 'db-revoke' } });
  });

  it('is not promoted while its hook fails, which is told with its output and run again when asked', async () => {
    const { call, database } = await shop('failing');
    const superuser = 'kept-from-every-answer';
    const admin = await call('PUT', '/api/v1/secrets/resources/admin', { values: { password: superuser } });
    expect(admin.status).toBe(201);
    expect((await call('DELETE', '/api/v1/jobs/db-apply')).status).toBe(200);
    await job(call, 'db-apply', {
      secrets: [ENTRY, { ...ENTRY, name: 'ADMIN', vault_path: 'resources/admin' }],
    });
    await accepted(call, 'stage', 1);
    const { job: works } = database;
    database.job = (_name, env) => {
      database.output = `could not log in as ${env['DB_user']} with ${env['DB_password']} by ${env['ADMIN_password']}\n`;
      return 3;
    };
    const failed = await through(call, 'promote');
    expect([failed.status, failed.body.code]).toEqual([409, 'rotation_hook_failed']);
    const withOutput = await eventually(
      () => rotate(call, { phase: 'promote' }),
      ({ body }) => body.why.includes('could not log in'),
    );
    expect(withOutput.body.why).toMatch(
      /exit code 3.*could not log in as shop_b with \(redacted\) by \(redacted\)/s,
    );
    const tried = database.runs.length;
    expect((await rotate(call, { phase: 'promote' })).body.code).toBe('rotation_hook_failed');
    expect(database.runs).toHaveLength(tried);
    database.job = works;
    const again = await rotate(call, { phase: 'promote', retryHook: true });
    expect(again.body).toMatchObject({ phase: 'stage', hook: { state: 'Pending' } });
    await accepted(call, 'promote', 2);
    expect(database.lockedOut).toEqual([]);
  });

  it('goes back over apply with the values swapped, and forward again over apply', async () => {
    const { call, database } = await shop('back');
    await accepted(call, 'stage', 1);
    await accepted(call, 'promote', 2);
    const back = await rotate(call, { phase: 'abort' });
    expect(back.body).toMatchObject({ phase: 'promote', hook: { hook: 'apply', swapped: true } });
    await accepted(call, 'abort', 3);
    expect(database.runs.at(-1)).toMatchObject({
      job: 'db-apply',
      env: { DB_user: 'shop_a', DB_user_PREVIOUS: 'shop_b' },
    });
    expect(database.clients('web')).toMatchObject([{ DB_user: 'shop_a' }]);
    expect(database.lockedOut).toEqual([]);
    // Before apply was asked for there is nothing to take back.
    const runs = database.runs.length;
    await accepted(call, 'stage', 4);
    await accepted(call, 'abort', 5);
    expect(database.runs).toHaveLength(runs);
    await accepted(call, 'stage', 6);
    await accepted(call, 'promote', 7);
    expect(database.clients('web')).toMatchObject([{ DB_user: 'shop_b', DB_user_PREVIOUS: 'shop_a' }]);
    // A way back that was begun: the old one is not taken away before the new one was made valid again.
    const undoing = (await rotate(call, { phase: 'abort' })).body.hook.run;
    await eventually(
      () => newestRun(call, 'db-apply'),
      ({ id, state }) => id === undoing && state === 'Succeeded',
    );
    const { job: works } = database;
    database.job = (name, env, roles) => (name === 'db-apply' ? 3 : works(name, env, roles));
    const refused = await through(call, 'retire');
    expect([refused.status, refused.body.code]).toEqual([409, 'rotation_hook_failed']);
    expect(database.runs.at(-1)?.job).toBe('db-apply');
    expect([...database.roles.keys()].sort()).toEqual(['shop_a', 'shop_b']);
    expect(database.lockedOut).toEqual([]);
  });

  it('is rotated as a whole only, and changed by its rotation only', async () => {
    const { call } = await shop('whole');
    const alone = await call('POST', '/api/v1/deployments/web/secrets/rotate', { phase: 'stage' });
    expect([alone.status, alone.body.code]).toEqual([409, 'rotation_whole_credential']);
    expect(alone.body.expected).toContain('/api/v1/secrets/resources/db/rotate');
    const typed = await call('PUT', DB, { values: { user: 'root', password: 'x' } });
    expect([typed.status, typed.body.code]).toEqual([409, 'anchored_secret_overwritten']);
    const minted = await call('PUT', DB, { generate: GENERATE });
    expect(minted.body.alterations.map(({ from }: { from: string }) => from)).toEqual(['user', 'password']);
  });

  it('waits for a job that is busy, and says which run', async () => {
    const { call, database } = await shop('busy');
    await accepted(call, 'stage', 1);
    const { job: works } = database;
    database.job = () => undefined;
    const { body } = await call('POST', '/api/v1/jobs/db-apply/run');
    const told = await rotate(call, { phase: 'promote' });
    expect(told.body.hook).toMatchObject({ state: 'Waiting', message: expect.stringContaining(body.run) });
    await eventually(
      () => newestRun(call, 'db-apply'),
      ({ state }) => state === 'Running',
    );
    database.job = works;
    database.end();
    await accepted(call, 'promote', 2);
    // The run that a person asked for is no hook: it receives what is in service.
    expect(database.runs.at(-2)?.env).toMatchObject({ DB_user: 'shop_a' });
    expect(database.runs.at(-2)?.env).not.toHaveProperty('DB_user_PREVIOUS');
  });

  it('stops where the job of a hook is gone, which its deletion tells, and goes on with another', async () => {
    const { call } = await shop('gone');
    await accepted(call, 'stage', 1);
    const { body: deleted } = await call('DELETE', '/api/v1/jobs/db-apply');
    expect(deleted.warnings).toMatchObject([{ code: 'rotation_hook_missing' }]);
    const stuck = await rotate(call, { phase: 'promote' });
    expect([stuck.status, stuck.body.code]).toEqual([409, 'rotation_hook_failed']);
    expect((await call('PUT', `${DB}/hooks`, { apply: 'nobody' })).body).toMatchObject({
      code: 'job_not_found',
      field: 'apply',
    });
    await job(call, 'stranger', { secrets: [] });
    expect((await call('PUT', `${DB}/hooks`, { revoke: 'stranger' })).body).toMatchObject({
      code: 'rotation_hook_invalid',
      field: 'revoke',
    });
    const cleared = await call('PUT', `${DB}/hooks`, {});
    expect(cleared.body).toMatchObject({ hooks: {}, removed: ['apply', 'revoke'] });
    await accepted(call, 'promote', 2);
  });
});

describe('a control plane that ends between the wish and the hook', () => {
  it('runs the hook after its next start, and the rotation goes on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-hooks-'));
    const first = await start(['--data-dir', folder]);
    const before = new NodeFlow(first);
    const { call, identity, database } = await shop('killed', before, first);
    await accepted(call, 'stage', 1);
    const { roles } = database;
    before.close();
    // Nobody is there to run it: it waits and says so.
    const asked = await rotate(call, { phase: 'promote' });
    expect(asked.body).toMatchObject({ phase: 'stage', hook: { hook: 'apply', state: 'Pending' } });
    await first.close();
    const second = await start(['--data-dir', folder]);
    const after = new NodeFlow(second);
    try {
      const agent = after.dial({ ...identity, url: second.url });
      await agent.welcome();
      const again = new DatabaseAgent(agent);
      for (const [user, password] of roles) again.roles.set(user, password);
      twoRoles(again);
      const now: Caller = (method, path, body) =>
        second.admin(method, path, body, { 'x-tenant-id': 'killed' });
      await accepted(now, 'promote', 2);
      expect(again.runs.filter(({ job: name }) => name === 'db-apply')).toMatchObject([
        { env: { DB_user: 'shop_b', DB_user_PREVIOUS: 'shop_a' } },
      ]);
      expect(again.lockedOut).toEqual([]);
    } finally {
      after.close();
      await second.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
