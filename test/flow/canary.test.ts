import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../../src/core/protocol/agent-protocol.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

const OLD = 'localhost:1/shop/web:1.0.0';
const NEW = 'localhost:1/shop/web:2.0.0';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: WorkingAgent;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  agent = new WorkingAgent((await flow.connected('n1', shop)).agent);
});
afterAll(async () => {
  agent.stop();
  flow.close();
  await plane.close();
});

const path = (name: string) => `/api/v1/deployments/${name}`;
const read = async (name: string) => (await shop.call('GET', path(name))).body;

async function deployed(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const healthCheck = { type: 'exec', command: ['probe'], retries: 3 };
  const body = {
    name,
    image: OLD,
    replicas: 2,
    healthCheck,
    ingress: [{ host: 'a.example.com', port: 80, provider: 'traefik' }],
    ...more,
  };
  expect((await shop.call('POST', '/api/v1/deployments', body)).status).toBe(201);
  await settled(name);
}

const settled = (name: string) =>
  eventually(
    () => read(name),
    ({ status }) => status.phase === 'Running',
  );
const of = (name: string, canary: boolean): readonly AssignedInstance[] =>
  agent.running(canary).filter(({ deployment }) => deployment === name);
const ids = (name: string, canary: boolean) => of(name, canary).map(({ id }) => id);

async function started(name: string, body: Readonly<Record<string, unknown>> = { image: NEW }) {
  const answer = await shop.call('POST', `${path(name)}/canary`, body);
  expect(answer.body.code).toBeUndefined();
  expect(answer.status).toBe(201);
  const { replicas } = answer.body;
  await eventually(
    () => read(name),
    ({ status }) => status.canary?.healthy === replicas,
  );
  return answer.body;
}

const reasons = async (name: string) =>
  (await shop.call('GET', `/api/v1/events?kind=deployment.canary_aborted&subject=${name}`)).body.map(
    ({ details }: { details: { reason: string } }) => details.reason,
  );

describe('a canary', () => {
  it('shares alias and router with the stable instances and is told apart from them', async () => {
    await deployed('web');
    const stable = ids('web', false);
    const body = await started('web');
    expect(body).toMatchObject({
      deployment: 'web',
      image: NEW,
      replicas: 1,
      alterations: [{ field: 'replicas', from: '(absent)', to: '1' }],
      warnings: [{ code: 'registry_unreachable' }],
      removed: [],
    });
    const [canary] = of('web', true);
    const [own] = of('web', false);
    expect(canary?.specHash).toBe(body.specHash);
    expect(canary?.container).toEqual({ ...own?.container, image: NEW });
    expect(canary?.container?.alias).toBe('web');
    const seen = await read('web');
    expect(seen.status).toMatchObject({
      phase: 'Running',
      desired: 2,
      healthy: 2,
      canary: { image: NEW, healthy: 1 },
    });
    expect(seen.status.instances.filter((one: { canary?: boolean }) => one.canary === true)).toHaveLength(1);
    expect((await shop.call('GET', `${path('web')}/canary`)).body).toMatchObject({ status: { healthy: 1 } });
    expect(ids('web', false)).toEqual(stable);

    const promoted = await shop.call('POST', `${path('web')}/canary/promote`);
    expect(promoted.body).toMatchObject({
      image: NEW,
      replicas: 2,
      specHash: body.specHash,
      alterations: [],
    });
    expect(promoted.body.warnings.map(({ code }: { code: string }) => code)).toEqual([
      'registry_unreachable',
    ]);
    await eventually(
      () => read('web'),
      ({ status }) => status.phase === 'Running' && status.instances.length === 2,
    );
    expect(ids('web', false)).toContain(canary?.id);
    expect(ids('web', true)).toEqual([]);
    const versions = (await shop.call('GET', '/api/v1/archives/deployments/web')).body;
    expect(versions.map(({ change }: { change: string }) => change)).toEqual(['created', 'updated']);
    expect((await read('web')).status.canary).toBeUndefined();
  });

  it('ends by request, by its own failure, and by a change of the deployment', async () => {
    await deployed('end');
    const stable = ids('end', false);
    const gone = () =>
      eventually(
        async () => ids('end', true),
        (left) => left.length === 0,
      );
    await started('end', { image: NEW, replicas: 2 });
    const aborted = await shop.call('POST', `${path('end')}/canary/abort`, {});
    expect([aborted.status, aborted.body.image]).toEqual([200, NEW]);
    await gone();

    await started('end');
    agent.seen = ({ canary }) => (canary === true ? { health: 'unhealthy', message: 'GET /ok: 500' } : {});
    await gone();
    agent.seen = () => ({});
    expect((await shop.call('GET', `${path('end')}/canary`)).body.code).toBe('canary_not_found');
    expect(ids('end', false)).toEqual(stable);

    await started('end');
    const changed = await shop.call('PUT', path('end'), { environment: { MODE: 'fast' } });
    expect(changed.body.warnings.map(({ code }: { code: string }) => code)).toEqual(['canary_aborted']);
    await gone();
    expect(await reasons('end')).toEqual(['requested', 'unhealthy', 'deployment_changed']);
    const events = (await shop.call('GET', '/api/v1/events?kind=deployment.canary_aborted&subject=end')).body;
    expect(events[1].message).toContain('GET /ok: 500');
  });

  it('is promoted with the ways in and the access that the deployment has by then', async () => {
    await deployed('closing', {
      access: { from: ['ingress'] },
      ingress: [{ host: 'then.example.com', port: 80 }],
    });
    await started('closing');
    const now = { access: { from: ['ingress'] }, ingress: [{ host: 'now.example.com', port: 80 }] };
    expect((await shop.call('PUT', path('closing'), now)).body.code).toBeUndefined();
    const { body } = await shop.call('POST', `${path('closing')}/canary/promote`);
    expect(body).toMatchObject({ image: NEW, ...now });
  });

  it('is started and promoted for one revision of the deployment where If-Match names it', async () => {
    await deployed('guarded');
    const order = (what: string, revision: unknown) =>
      shop.call('POST', `${path('guarded')}/${what}`, what === 'canary' ? { image: NEW } : undefined, {
        'if-match': `"${String(revision)}"`,
      });
    const { revision } = await read('guarded');
    const outdated = { code: 'revision_mismatch', field: 'If-Match', expected: `"${revision}"` };
    expect((await order('canary', revision - 1)).body).toMatchObject(outdated);
    expect((await order('canary', revision)).status).toBe(201);
    expect((await order('canary/promote', revision - 1)).body).toMatchObject(outdated);
    expect((await order('canary/promote', 'none')).body).toMatchObject({ code: 'header_invalid' });
    expect((await order('canary/promote', revision)).status).toBe(200);
  });

  it('is not ended by another number of instances, and is promoted with that number', async () => {
    await deployed('more');
    await started('more', { spec: { environment: { MODE: 'fast' }, replicas: 7, update: { maxSurge: 3 } } });
    await shop.call('PUT', path('more'), { replicas: 3, update: { maxSurge: 2 } });
    const promoted = (await shop.call('POST', `${path('more')}/canary/promote`)).body;
    expect(promoted).toMatchObject({ replicas: 3, update: { maxSurge: 2 }, environment: { MODE: 'fast' } });
  });

  it('announces what stays the deployment’s, what is lost, and material that it stored', async () => {
    await deployed('said', { environment: { A: '1', B: '2' } });
    const spec = {
      replicas: 7,
      environment: { A: '1' },
      secrets: [{ name: 'DB', vault_path: 'resources/said', values: { password: 'marker-of-canary-3391' } }],
    };
    const answer = await shop.call('POST', `${path('said')}/canary`, { spec, replicas: 1 });
    expect(answer.body.removed).toEqual(['environment[B]']);
    const fields = answer.body.alterations.map(({ field }: { field: string }) => field);
    expect(fields).toEqual(
      expect.arrayContaining(['spec.replicas', 'spec.secrets[0].anchor', 'spec.secrets[0].values']),
    );
    expect(JSON.stringify(answer.body)).not.toContain('marker-of-canary-3391');
    expect((await shop.call('GET', '/api/v1/secrets/resources/said')).body).toMatchObject({
      keys: ['password'],
    });
    await shop.call('POST', `${path('said')}/canary/abort`);
  });

  it('is in a backup with the policy, and comes back with a restore', async () => {
    await deployed('kept');
    const policy = { minReplicas: 2, maxReplicas: 5, targetCpuPercent: 70, cooldown: '1h' };
    await shop.call('PUT', `${path('kept')}/scaling-policy`, policy);
    const canary = await started('kept', {
      spec: { environment: { MODE: 'fast' }, command: ['/web'] },
      replicas: 2,
      weight: 5,
    });
    const backup = (await shop.call('POST', '/api/v1/backups', { deploymentName: 'kept' })).body;
    expect(backup.content).toMatchObject({
      scalingPolicy: policy,
      canary: { replicas: 2, weight: 5, spec: canary.spec },
    });
    const document = (await shop.call('GET', `/api/v1/backups/${backup.id}/export`)).body;
    await shop.call('DELETE', path('kept'));
    await eventually(
      async () => [...of('kept', false), ...of('kept', true)],
      (left) => left.length === 0,
    );

    const imported = (await shop.call('POST', '/api/v1/backups/import', document)).body;
    expect(imported.content).toEqual(backup.content);
    const restored = await shop.call('POST', `/api/v1/backups/${imported.id}/restore`);
    expect(restored.body.code).toBeUndefined();
    expect(restored.status).toBe(201);
    const again = await eventually(
      () => read('kept'),
      ({ status }) => status.phase === 'Running' && status.canary?.healthy === 2,
    );
    expect(again.status.canary.specHash).toBe(canary.specHash);
    expect((await shop.call('GET', `${path('kept')}/scaling-policy`)).body).toMatchObject(policy);

    // A restore is whole: what the backup does not hold goes.
    await shop.call('POST', `${path('kept')}/canary/abort`);
    await shop.call('DELETE', `${path('kept')}/scaling-policy`);
    const bare = (await shop.call('POST', '/api/v1/backups', { deploymentName: 'kept' })).body;
    await shop.call('PUT', `${path('kept')}/scaling-policy`, policy);
    await started('kept');
    const whole = (await shop.call('POST', `/api/v1/backups/${bare.id}/restore`)).body;
    expect(whole.warnings.map(({ code }: { code: string }) => code)).toEqual(
      expect.arrayContaining(['scaling_policy_removed', 'canary_aborted']),
    );
    expect((await shop.call('GET', `${path('kept')}/canary`)).body.code).toBe('canary_not_found');
    expect((await shop.call('GET', `${path('kept')}/scaling-policy`)).body.code).toBe(
      'scaling_policy_not_found',
    );
  });

  it('of many that start at once, one is accepted; and one Idempotency-Key makes one', async () => {
    await deployed('race');
    const bodies = Array.from({ length: 8 }, (_, n) => ({
      spec: { environment: { N: String(n) } },
      replicas: 1,
    }));
    const answers = await Promise.all(
      bodies.map((body) => shop.call('POST', `${path('race')}/canary`, body)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    await shop.call('POST', `${path('race')}/canary/abort`);
    const key = { 'idempotency-key': 'race-1' };
    const [one, two] = [
      await shop.call('POST', `${path('race')}/canary`, bodies[0], key),
      await shop.call('POST', `${path('race')}/canary`, bodies[0], key),
    ];
    expect([one.status, two.status, two.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true']);
    await shop.call('DELETE', path('race'));
    await eventually(
      async () => of('race', true),
      (left) => left.length === 0,
    );
    expect((await shop.call('GET', `${path('race')}/canary`)).body.code).toBe('deployment_not_found');
  });
});

describe('orders to an instance of a canary', () => {
  it('replace it, and the canary goes on to its promotion', async () => {
    const name = 'ordered';
    await deployed(name, { ingress: [] });
    await started(name);
    const stable = ids(name, false);
    const healthy = () =>
      eventually(
        () => read(name),
        ({ status }) => status.canary?.healthy === 1 && of(name, true).length === 1,
      );
    const ordered = async (order: string, body?: object) => {
      const answer = await shop.call('POST', `${path(name)}/${order}`, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.warnings.map(({ code }: { code: string }) => code);
    };
    for (const [kind, told] of [
      ['restart', ['canary_instance_replaced']],
      ['stop', []],
    ] as const) {
      await healthy();
      const [now = ''] = ids(name, true);
      expect(await ordered(`instances/${now}/${kind}`)).toEqual(told);
      await eventually(
        () => ids(name, true),
        (found) => found.length === 1 && found[0] !== now,
      );
    }
    await healthy();
    expect(ids(name, false)).toEqual(stable);
    // By the rule of updates, of this one and of all: neither ends it.
    const [now = ''] = ids(name, true);
    await ordered('restart', { instance: now });
    await ordered('restart');
    await eventually(
      () => [...ids(name, false), ...ids(name, true)],
      (all) => all.length === 3 && ![...stable, now].some((id) => all.includes(id)),
    );
    await healthy();
    expect(await reasons(name)).toEqual([]);
    await ordered('canary/promote');
    await eventually(
      () => read(name),
      ({ status, image }) => image === NEW && status.phase === 'Running' && status.instances.length === 2,
    );
  });
});
