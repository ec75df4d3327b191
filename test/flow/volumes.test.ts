import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import type { VolumeObservation } from '../../src/core/protocol/agent-protocol.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, eventKinds, NodeFlow } from '../support/harness/node-flow.ts';
import { createVolume, MIB, volumeAgent, volumeOnce, VOLUMES } from '../support/agents/volume-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_AGENTS_SESSIONS_PER_SECOND: '500' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});

afterAll(async () => {
  flow.close();
  await plane.close();
});

describe('a volume', () => {
  it('is judged by every rule and not stored by a dry run', async () => {
    const body = { name: 'dry', class: 'replicated', type: 'volume', sizeBytes: 128 * MIB };
    const dry = await shop.call('POST', `${VOLUMES}?dryRun=true`, body);
    expect([dry.status, dry.body.name, dry.body.alterations[0].field]).toEqual([200, 'dry', 'replicas']);
    expect((await shop.call('GET', VOLUMES)).body).toEqual([]);
    const refused = await shop.call('POST', `${VOLUMES}?dryRun=true`, { ...body, sizeBytes: 1 });
    expect([refused.status, refused.body.code]).toEqual([422, 'volume_size_invalid']);
  });

  it('is ordered from its node, ready by its word, mounted, and gone when its bytes are', async () => {
    const one = await volumeAgent(flow, shop, 'thin-1');
    const id = await createVolume(shop.call, 'thin', { nodeId: 'thin-1' });
    const ordered = await one.assignment(({ volumes }) => volumes?.[0]?.id === id);
    expect(ordered.volumes).toEqual([
      { id, role: 'primary', class: 'replicated', type: 'volume', epoch: 1, sizeBytes: 128 * MIB },
    ]);
    await volumeOnce(shop.call, id, ({ phase }) => phase === 'Materializing');
    const early = await shop.call('POST', '/api/v1/deployments', {
      name: 'early',
      image: 'localhost:1/shop/web:1.0.0',
      volumes: [{ volumeId: id, mountPath: '/data' }],
    });
    expect([early.status, early.body.code]).toEqual([409, 'volume_not_ready']);

    one.volumes = [
      { volumeId: id, role: 'primary', epoch: 1, state: 'ready', sizeBytes: 128 * MIB, usedBytes: MIB },
    ];
    one.report();
    const ready = await volumeOnce(shop.call, id, ({ phase }) => phase === 'Ready');
    expect(ready).toMatchObject({
      name: 'thin',
      primaryNodeId: 'thin-1',
      usedBytes: MIB,
      replicas: [],
      accessMode: 'ReadWriteOnce',
      consumers: [],
    });
    expect(Date.parse(ready.measuredAt)).toBeGreaterThan(Date.now() - 60_000);

    await deploy(shop.call, 'thin', { volumes: [{ volumeId: id, mountPath: '/data', readOnly: false }] });
    const placed = await one.assignment(({ instances }) => instances.length === 1);
    expect(placed.instances[0]?.container?.mounts).toEqual([
      { volumeId: id, kind: 'volume', target: '/data', readOnly: false, sizeBytes: 128 * MIB },
    ]);
    const mounted = await volumeOnce(shop.call, id, ({ consumers }) => consumers.length === 1);
    expect(mounted.consumers).toEqual([{ deployment: 'thin', readOnly: false }]);
    const inUse = await shop.call('DELETE', `${VOLUMES}/${id}`);
    expect([inUse.status, inUse.body.code]).toEqual([409, 'volume_in_use']);

    await shop.call('DELETE', '/api/v1/deployments/thin');
    const deleted = await shop.call('DELETE', `${VOLUMES}/${id}`);
    expect([deleted.status, deleted.body.phase]).toEqual([200, 'Deleting']);
    // A report of before the order was taken up says nothing.
    one.volumes = [];
    one.report();
    const gone = await one.assignment(({ volumes }) => volumes?.[0]?.role === 'gone');
    expect(gone.volumes?.[0]?.id).toBe(id);
    expect((await shop.call('GET', `${VOLUMES}/${id}`)).body.phase).toBe('Deleting');
    one.report();
    await eventually(
      () => shop.call('GET', `${VOLUMES}/${id}`),
      ({ status }) => status === 404,
    );
    expect(await eventKinds(shop.call, id, ['volume'])).toEqual([
      'volume.created',
      'volume.ready',
      'volume.deleting',
      'volume.deleted',
    ]);
  });
});

describe('volumes', () => {
  it('are made from YAML, listed by name, page by page, and their names are theirs', async () => {
    const tenant = await plane.tenant('listed');
    const yaml = await fetch(`${plane.url}${VOLUMES}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/yaml' },
      body: 'name: beta\nclass: replicated\ntype: volume\nsizeBytes: 134217728\nreplicas: 1\n',
    });
    const made = (await yaml.json()) as Record<string, unknown>;
    expect([yaml.status, made['phase'], made['wantedReplicas']]).toEqual([201, 'Pending', 1]);
    expect(made['warnings']).toEqual([
      expect.objectContaining({ code: 'volume_copies_wait', field: 'replicas' }),
    ]);
    for (const name of ['gamma', 'alpha'])
      await createVolume(tenant.call, name, { class: 'ephemeral', type: 'tmpfs', sizeBytes: 1 });
    const first = await tenant.call('GET', `${VOLUMES}?limit=2`);
    expect(first.body.map(({ name }: { name: string }) => name)).toEqual(['alpha', 'beta']);
    const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect((await tenant.call('GET', next)).body.map(({ name }: { name: string }) => name)).toEqual([
      'gamma',
    ]);
    const outdated = await tenant.call('DELETE', `${VOLUMES}/${String(made['id'])}`, undefined, {
      'if-match': '"1"',
    });
    expect([outdated.status, outdated.body.code]).toEqual([412, 'revision_mismatch']);
    // No node keeps anything of it, so it is gone as soon as somebody looks.
    await tenant.call('DELETE', `${VOLUMES}/${String(made['id'])}`);
    await eventually(
      () => tenant.call('POST', VOLUMES, { name: 'beta', class: 'object', type: 'volume', sizeBytes: 1 }),
      ({ status }) => status === 201,
    );
  });

  it('get their next writer when the container of the last one is gone, and claim it for jobs too', async () => {
    const tenant = await plane.tenant('handed');
    const one = await volumeAgent(flow, tenant, 'handed-1');
    const id = await createVolume(tenant.call, 'data', { nodeId: 'handed-1' });
    one.volumes = [{ volumeId: id, role: 'primary', epoch: 1, state: 'ready' }];
    one.report();
    await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
    const volumes = [{ volumeId: id, mountPath: '/data' }];
    await deploy(tenant.call, 'first', { volumes });
    const [held] = await flow.instances(tenant, 'first', 1);
    const job = { kind: 'Job', name: 'load', image: 'localhost:1/shop/web:1.0.0', volumes };
    const refused = await tenant.call('POST', '/api/v1/jobs', job);
    expect([refused.status, refused.body.code]).toEqual([409, 'volume_access_mode_conflict']);
    await tenant.call('DELETE', '/api/v1/deployments/first');
    await deploy(tenant.call, 'second', { volumes });
    const waiting = await eventually(
      () => tenant.call('GET', '/api/v1/deployments/second'),
      ({ body }) => body.status?.phase === 'Waiting',
    );
    expect(waiting.body.status.message).toBe('waiting for first to stop writing to a volume that it gave up');
    one.agent.report([{ id: held?.id ?? ('' as never), phase: 'removed' }]);
    const [next] = await flow.instances(tenant, 'second', 1);
    expect(next?.nodeId).toBe('handed-1');
    await tenant.call('DELETE', '/api/v1/deployments/second');
    expect((await tenant.call('POST', '/api/v1/jobs', job)).status).toBe(201);
    expect((await tenant.call('GET', `${VOLUMES}/${id}`)).body.consumers).toEqual([
      { job: 'load', readOnly: false },
    ]);
    const third = await tenant.call('POST', '/api/v1/deployments', {
      name: 'third',
      image: 'localhost:1/shop/web:1.0.0',
      volumes,
    });
    expect(third.body.why).toContain('the job load');
    await tenant.call('DELETE', '/api/v1/jobs/load');
    expect((await tenant.call('GET', `${VOLUMES}/${id}`)).body.consumers).toEqual([]);
  });

  it('cost no write while nothing but measurements moves, which are told all the same', async () => {
    const tenant = await plane.tenant('measured');
    const one = await volumeAgent(flow, tenant, 'measured-1');
    const id = await createVolume(tenant.call, 'data', { nodeId: 'measured-1' });
    const saying = (usedBytes: number) => {
      one.volumes = [{ volumeId: id, role: 'primary', epoch: 1, state: 'ready', usedBytes }];
      one.report();
    };
    saying(MIB);
    const { revision } = await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
    const stored = () =>
      plane.store
        .forTenant(tenant.id as TenantId)
        .get('volume-observations', idOf('volume-observations', id, 'measured-1'));
    const { modRevision: before } =
      (await eventually(
        async () => stored(),
        (found) => found !== undefined,
      )) ?? {};
    for (let used = 2; used <= 50; used += 1) saying(used * MIB);
    const measured = await volumeOnce(tenant.call, id, ({ usedBytes }) => usedBytes === 50 * MIB);
    expect(measured.revision).toBe(revision);
    expect(stored()?.modRevision).toBe(before);
    const { body } = await tenant.call('GET', '/api/v1/dvm/recommendations', undefined, {
      'x-tenant-id': 'measured',
    });
    expect(body).toEqual([
      expect.objectContaining({ type: 'replication', applicable: false, priority: 'high' }),
    ]);
    saying(125 * MIB);
    const full = await eventually(
      () =>
        tenant.call('GET', '/api/v1/dvm/recommendations?type=capacity', undefined, {
          'x-tenant-id': 'measured',
        }),
      (answer) => answer.body.length === 1,
    );
    expect(full.body[0]).toMatchObject({ priority: 'critical', applicable: true, volume_id: id });
    const applied = await tenant.call('POST', `/api/v1/dvm/recommendations/${full.body[0].id}/apply`);
    expect([applied.status, applied.body.wantedSizeBytes]).toEqual([200, 256 * MIB]);
    const filled = { from: '(absent)', why: 'as recommended' };
    expect(applied.body.alterations).toEqual([
      { ...filled, field: 'parameters.action', to: 'resize' },
      { ...filled, field: 'parameters.target_size_bytes', to: String(256 * MIB) },
    ]);
    const resized = await one.assignment(({ volumes }) => volumes?.[0]?.sizeBytes === 256 * MIB);
    expect(resized.volumes?.[0]?.role).toBe('primary');
    const again = await tenant.call('POST', `/api/v1/dvm/recommendations/${full.body[0].id}/apply`);
    expect([again.status, again.body.code]).toEqual([404, 'dvm_recommendation_not_found']);
  });

  it('are made smaller only where that can be done, judged on what they hold at that moment', async () => {
    const tenant = await plane.tenant('smaller');
    const one = await volumeAgent(flow, tenant, 'smaller-1');
    const GIB = 1024 * MIB;
    const id = await createVolume(tenant.call, 'data', { nodeId: 'smaller-1', sizeBytes: 10 * GIB });
    const saying = (more: Partial<VolumeObservation>) => {
      const seen = { volumeId: id, role: 'primary', epoch: 1, state: 'ready' } as const;
      one.volumes = [{ ...seen, sizeBytes: 10 * GIB, usedBytes: GIB, ...more }];
      one.report();
    };
    const header = { 'x-tenant-id': 'smaller' };
    const listed = async (fits: (found: { applicable: boolean }) => boolean) => {
      const path = '/api/v1/dvm/recommendations?type=capacity';
      const { body } = await eventually(
        () => tenant.call('GET', path, undefined, header),
        (answer) => answer.body.length === 1 && fits(answer.body[0]),
      );
      return body[0];
    };
    saying({});
    const fixed = await listed(() => true);
    expect(fixed).toMatchObject({ applicable: false, priority: 'low' });
    expect(fixed.reason).toContain('cannot be made smaller while it is in use');
    saying({ shrinkable: true });
    const { id: recommended, parameters } = await listed(({ applicable }) => applicable);
    expect(parameters).toEqual({ action: 'resize', target_size_bytes: 2 * GIB });
    const apply = async (sent?: Record<string, unknown>) => {
      const path = `/api/v1/dvm/recommendations/${recommended}/apply`;
      const { status, body } = await tenant.call('POST', path, sent && { parameters: sent });
      return { status, code: body.code, body };
    };
    const stale = { status: 409, code: 'dvm_recommendation_stale_measurement' };
    // It was filled since it was last heard of.
    one.measurement = { sizeBytes: 10 * GIB, usedBytes: 3 * GIB, epoch: 1, shrinkable: true };
    expect(await apply()).toMatchObject({ ...stale, body: { expected: `at least ${3 * GIB}` } });
    // Words that are no measurement, or of another time, are none.
    for (const said of [
      'small',
      { sizeBytes: -1, usedBytes: 0, epoch: 1, shrinkable: true },
      { sizeBytes: 1e300, usedBytes: 0, epoch: 1, shrinkable: true },
      { sizeBytes: GIB, usedBytes: 0, epoch: 2, shrinkable: true },
    ]) {
      one.measurement = said;
      expect(await apply()).toMatchObject(stale);
    }
    one.measurement = { sizeBytes: 10 * GIB, usedBytes: GIB, epoch: 1, shrinkable: false };
    expect(await apply()).toMatchObject({ status: 422, code: 'dvm_recommendation_bad_parameter' });
    one.measurement = undefined;
    const least = { target_size_bytes: 200 * MIB };
    saying({ shrinkable: true, usedBytes: MIB });
    await listed((found) => 'applicable' in found);
    expect(await apply(least)).toMatchObject({ status: 422, code: 'dvm_recommendation_apply_invalid_spec' });
    saying({ shrinkable: true });
    expect(await apply({ target_size_bytes: 2 * GIB })).toMatchObject({
      status: 200,
      body: { alterations: [{ field: 'parameters.action' }] },
    });
    await one.assignment(({ volumes }) => volumes?.[0]?.sizeBytes === 2 * GIB);

    // The record says what there is, and why it is not what was asked for.
    const problem = { reason: 'volume_shrink_refused', message: 'it cannot be made so small' };
    saying({ shrinkable: true, problem });
    const { sizeBytes, wantedSizeBytes, message } = await volumeOnce(
      tenant.call,
      id,
      (body) => body.message !== undefined,
    );
    expect({ sizeBytes, wantedSizeBytes, message }).toEqual({
      sizeBytes: 10 * GIB,
      wantedSizeBytes: 2 * GIB,
      message: 'smaller-1: it cannot be made so small',
    });
    one.die();
    await eventually(apply, (answer) => answer.code === stale.code);
  });

  it('are spoken of by their own nodes only (I-12)', async () => {
    const tenant = await plane.tenant('spoken');
    const other = await plane.tenant('spoken-other');
    const one = await volumeAgent(flow, tenant, 'spoken-1');
    const two = await volumeAgent(flow, tenant, 'spoken-2');
    const foreign = await volumeAgent(flow, other, 'spoken-3');
    const id = await createVolume(tenant.call, 'data', { nodeId: 'spoken-1' });
    const claim = { volumeId: id, role: 'primary', epoch: 1, state: 'ready' } as const;
    for (const agent of [two, foreign]) {
      agent.volumes = [claim];
      agent.report();
    }
    one.volumes = [{ ...claim, state: 'preparing' }];
    one.report();
    await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Materializing');
    const told = plane.store.forTenant(tenant.id as TenantId).collection('volume-observations');
    await eventually(
      async () => told.ids(),
      (ids) => ids.length > 0,
    );
    expect(told.ids()).toEqual([idOf('volume-observations', id, 'spoken-1')]);
  });
});
