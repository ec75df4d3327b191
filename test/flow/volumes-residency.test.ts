import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, type NodeFlow } from '../support/harness/node-flow.ts';
import { BEAT_MS, primary, PromotionStage } from '../support/harness/promotion-stage.ts';
import { dialVolumeAgent, SLOW_MS, volumeOnce } from '../support/agents/volume-agent.ts';

let stage: PromotionStage;
let plane: ControlPlane;
let flow: NodeFlow;

beforeAll(async () => {
  stage = await PromotionStage.start();
  ({ plane, flow } = stage);
});

afterAll(() => stage.close());

describe('what mounts a volume that was promoted', () => {
  it('is held back by a pin, and the explanation gives the write that clears it; its readers follow', async () => {
    const tenant = await plane.tenant('pinned');
    const one = await stage.node(tenant, 'pinned-1');
    const two = await stage.node(tenant, 'pinned-2');
    const id = await stage.volume(tenant, 'data', [one, two]);
    const volumes = [{ volumeId: id, mountPath: '/data' }];
    await deploy(tenant.call, 'pg', { volumes, nodeId: 'pinned-1' });
    await deploy(tenant.call, 'report', { volumes: [{ volumeId: id, mountPath: '/data', readOnly: true }] });
    for (const name of ['pg', 'report'])
      expect((await flow.instances(tenant, name, 1))[0]?.nodeId).toBe('pinned-1');
    one.die();
    await volumeOnce(tenant.call, id, ({ epoch }) => epoch === 2);
    two.volumes = [primary(id, 2)];

    // The reader was fenced with the node: it does not wait until the node counts as lost.
    await eventually(
      () => flow.instances(tenant, 'report', 1),
      ([instance]) => instance?.nodeId === 'pinned-2',
      SLOW_MS,
    );
    const { body } = await eventually(
      () => tenant.call('GET', '/api/v1/deployments/pg/explain'),
      (answer) => answer.body.pin !== undefined,
      SLOW_MS,
    );
    const message =
      'the pin nodeId pinned-1 holds it back: without it pinned-2 would take it; clear it with PUT /api/v1/deployments/pg {"nodeId":null}';
    expect(body.pin).toEqual({
      nodeId: 'pinned-1',
      fitWithout: ['pinned-2'],
      message,
      clearedBy: { method: 'PUT', path: '/api/v1/deployments/pg', body: { nodeId: null } },
    });
    expect(body.summary).toContain(message);
    expect((await stage.event(tenant, 'pg', 'deployment.unschedulable')).message).toContain(message);

    const { method, path, body: write } = body.pin.clearedBy;
    expect((await tenant.call(method, path, write)).status).toBe(200);
    await eventually(
      () => flow.instances(tenant, 'pg', 1),
      ([instance]) => instance?.nodeId === 'pinned-2',
      SLOW_MS,
    );
    expect((await tenant.call('GET', '/api/v1/deployments/pg/explain')).body.pin).toBeUndefined();
  });
});

describe('the residency of one deployment', () => {
  const german = { 'berth.io/country': 'DE' };
  const french = { 'berth.io/country': 'FR' };
  const within = (country: string) => ({ residency: { country } });

  it('takes no copy from another: create, update, rollback, restore, canary and job are refused with both named', async () => {
    const tenant = await plane.tenant('shared');
    const one = await stage.node(tenant, 'shared-1', german);
    const two = await stage.node(tenant, 'shared-2', french);
    const id = await stage.volume(tenant, 'data', [one]);
    const reading = [{ volumeId: id, mountPath: '/data', readOnly: true }];
    await deploy(tenant.call, 'pg', { volumes: [{ volumeId: id, mountPath: '/data' }] });
    // While there is no copy, nothing is taken from anybody.
    await deploy(tenant.call, 'report', { volumes: reading, placement: within('DE') });
    const backup = await tenant.call('POST', '/api/v1/backups', { deploymentName: 'report' });
    const freed = await tenant.call('PUT', '/api/v1/deployments/report', { placement: null });
    expect(freed.status).toBe(200);
    await stage.copy(tenant, id, one, two);

    const why =
      'report asks for country DE, which excludes shared-2; pg relies on the copy of volume data there.';
    const answers = await Promise.all([
      tenant.call('PUT', '/api/v1/deployments/report', { placement: within('DE') }),
      tenant.call('POST', '/api/v1/deployments/report/rollback', { version: 1 }),
      tenant.call('POST', `/api/v1/backups/${backup.body.id}/restore`),
    ]);
    for (const { status, body } of answers)
      expect([status, body.code, body.why]).toEqual([409, 'volume_residency_conflict', why]);
    const canary = await tenant.call('POST', '/api/v1/deployments/report/canary', {
      spec: { placement: within('DE') },
    });
    expect([canary.body.code, canary.body.field]).toEqual([
      'volume_residency_conflict',
      'spec.placement.residency',
    ]);
    const image = 'localhost:1/shop/web:1.0.0';
    const job = { kind: 'Job', name: 'dump', image, volumes: reading, placement: within('DE') };
    const refused = await tenant.call('POST', '/api/v1/jobs', job);
    expect([refused.status, refused.body.code]).toEqual([409, 'volume_residency_conflict']);
    expect(refused.body.why).toContain('the job dump asks for country DE');
    const accepted = await tenant.call('POST', '/api/v1/jobs', { ...job, placement: within('FR') });
    expect(accepted.body.warnings.map(({ code }: { code: string }) => code)).toContain(
      'volume_primary_excluded',
    );
    const pinned = { name: 'pinned', image, volumes: reading, nodeId: 'shared-2' };
    const warned = await tenant.call('POST', '/api/v1/deployments', pinned);
    expect(warned.body.warnings.map(({ code }: { code: string }) => code)).toContain(
      'volume_read_on_primary',
    );
    // The job wants FR, and the copy is there: a promotion stays possible, and the reader that is elsewhere removes nothing.
    const { replicas } = await volumeOnce(tenant.call, id, () => true);
    expect(replicas).toEqual([expect.objectContaining({ nodeId: 'shared-2', state: 'live' })]);
  });

  it('keeps a copy whose node states another country since, and says why it cannot take over', async () => {
    const tenant = await plane.tenant('moved');
    const one = await stage.node(tenant, 'moved-1', german);
    const two = await stage.node(tenant, 'moved-2', german);
    const id = await stage.volume(tenant, 'data', [one, two]);
    await deploy(tenant.call, 'pg', { volumes: [{ volumeId: id, mountPath: '/data' }] });
    await deploy(tenant.call, 'report', {
      volumes: [{ volumeId: id, mountPath: '/data', readOnly: true }],
      placement: within('DE'),
    });
    const { volumes } = two;
    two.die();
    const back = await dialVolumeAgent(flow, tenant, two.identity, french);
    stage.keep(back);
    back.volumes = volumes;
    back.beatEvery(BEAT_MS);
    const misplaced = 'the residency of report (country DE) does not allow it there';
    const kept = await volumeOnce(
      tenant.call,
      id,
      ({ replicas: [copy] }) => copy.misplaced !== undefined && copy.state === 'live',
    );
    expect(kept.replicas).toEqual([{ nodeId: 'moved-2', state: 'live', lagSeconds: 0, misplaced }]);
    expect((await stage.event(tenant, id, 'volume.copy_misplaced')).message).toContain(misplaced);
    one.die();
    const stuck = await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Degraded');
    expect(stuck.message).toContain(`moved-2: ${misplaced}`);
    // A reader that is stopped binds nothing: the writer gets its bytes back.
    expect((await tenant.call('PUT', '/api/v1/deployments/report', { replicas: 0 })).status).toBe(200);
    const { primaryNodeId } = await volumeOnce(tenant.call, id, ({ epoch }) => epoch === 2);
    expect(primaryNodeId).toBe('moved-2');
  });
});
