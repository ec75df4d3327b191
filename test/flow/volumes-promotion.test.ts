import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PREPARE_FEATURE, SEAL_FEATURE } from '../../src/core/protocol/agent-protocol.ts';
import type { ControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, type NodeFlow } from '../support/harness/node-flow.ts';
import {
  BEAT_MS,
  FENCED_MS,
  primary,
  PromotionStage,
  replica,
  SPAN_MS,
} from '../support/harness/promotion-stage.ts';
import {
  createVolume,
  dialVolumeAgent,
  MIB,
  SLOW_MS,
  type VolumeAgent,
  volumeOnce,
} from '../support/agents/volume-agent.ts';

let stage: PromotionStage;
let plane: ControlPlane;
let flow: NodeFlow;

beforeAll(async () => {
  stage = await PromotionStage.start();
  ({ plane, flow } = stage);
});

afterAll(() => stage.close());

describe('a lost primary with live copies', () => {
  it('gives way to the newest of them after its lease, its writer follows, and its own bytes are told of', async () => {
    const tenant = await plane.tenant('promote');
    const one = await stage.node(tenant, 'promote-1');
    const two = await stage.node(tenant, 'promote-2');
    const three = await stage.node(tenant, 'promote-3');
    const id = await createVolume(tenant.call, 'data', { nodeId: 'promote-1', replicas: 2 });
    const ordered = await one.assignment(({ volumes }) => volumes?.[0]?.copiesTo?.length === 2);
    expect(ordered.volumes?.[0]).toMatchObject({
      role: 'primary',
      epoch: 1,
      copiesTo: ['promote-2', 'promote-3'],
      leaseMs: SPAN_MS,
    });
    for (const agent of [two, three]) {
      const { volumes } = await agent.assignment((assignment) => assignment.volumes?.[0]?.id === id);
      expect(volumes?.[0]).toEqual({
        id,
        role: 'replica',
        class: 'replicated',
        type: 'volume',
        epoch: 1,
        sizeBytes: 128 * MIB,
      });
    }
    one.volumes = [
      primary(id, 1, [
        { nodeId: 'promote-2', state: 'live', sequence: 5, ageMs: 900 },
        { nodeId: 'promote-3', state: 'live', sequence: 7, ageMs: 400 },
      ]),
    ];
    two.volumes = [replica(id, 1, 5)];
    three.volumes = [replica(id, 1, 7)];
    const ready = await volumeOnce(
      tenant.call,
      id,
      ({ phase, replicas }) =>
        phase === 'Ready' && replicas.every(({ state }: { state: string }) => state === 'live'),
    );
    expect(ready.replicas).toEqual([
      { nodeId: 'promote-2', state: 'live', lagSeconds: 0.9 },
      { nodeId: 'promote-3', state: 'live', lagSeconds: 0.4 },
    ]);
    await deploy(tenant.call, 'app', { volumes: [{ volumeId: id, mountPath: '/data' }] });
    const [old] = await flow.instances(tenant, 'app', 1);
    expect(old?.nodeId).toBe('promote-1');

    // The primary holds a lease, the others have none to hold.
    const answered = one.report();
    two.report();
    await one.lease(answered);
    const answeredMs = performance.now();
    expect(two.agent.received.filter(({ type }) => type === 'lease')).toEqual([]);
    one.die();

    const promoted = await volumeOnce(tenant.call, id, ({ epoch }) => epoch === 2);
    expect(performance.now() - answeredMs).toBeGreaterThanOrEqual(FENCED_MS - 20);
    expect(promoted).toMatchObject({ primaryNodeId: 'promote-3', phase: 'Degraded' });
    expect(promoted.replicas).toEqual([
      { nodeId: 'promote-2', state: 'syncing', lagSeconds: null },
      { nodeId: 'promote-1', state: 'failed', lagSeconds: null, formerEpoch: 1 },
    ]);
    const event = await stage.event(tenant, id, 'volume.promoted');
    expect(event.details).toMatchObject({
      from: 'promote-1',
      to: 'promote-3',
      epoch: 2,
      copy: { sequence: 7, takenAt: '2026-01-01T00:00:00.000Z' },
    });
    const bound = event.details['lossBoundSeconds'] as number;
    expect(bound).toBeGreaterThanOrEqual(Math.ceil((FENCED_MS + 400) / 1000));
    expect(bound).toBeLessThanOrEqual(Math.ceil((FENCED_MS + 400) / 1000) + 1);
    const orders = await three.assignment(({ volumes }) => volumes?.[0]?.epoch === 2);
    expect(orders.volumes?.[0]).toMatchObject({ role: 'primary', copiesTo: ['promote-2', 'promote-1'] });
    expect((await two.assignment(({ volumes }) => volumes?.[0]?.epoch === 2)).volumes?.[0]?.role).toBe(
      'replica',
    );

    // The writer follows at once, and its predecessor is told to stop.
    const moved = await eventually(
      () => flow.instances(tenant, 'app', 1),
      ([instance]) => instance?.nodeId === 'promote-3',
      SLOW_MS,
    );
    expect(moved[0]?.id).not.toBe(old?.id);
    three.volumes = [primary(id, 2, [{ nodeId: 'promote-2', state: 'live', sequence: 8, ageMs: 100 }])];
    two.volumes = [replica(id, 2, 8)];
    await volumeOnce(
      tenant.call,
      id,
      ({ phase, replicas }) => phase === 'Ready' && replicas[0].state === 'live',
    );

    // The old primary returns: a copy under the new epoch, its own bytes aside.
    const back = await dialVolumeAgent(flow, tenant, one.identity);
    stage.keep(back);
    const told = await back.assignment(({ volumes }) => volumes !== undefined);
    expect(told.volumes?.[0]).toMatchObject({ id, role: 'replica', epoch: 2 });
    expect(told.instances).toEqual([expect.objectContaining({ id: old?.id, wanted: 'stop' })]);
    back.volumes = [{ ...replica(id, 2, 8), diverged: [{ epoch: 1, path: '/var/lib/berth/diverged-1' }] }];
    back.beatEvery(BEAT_MS);
    expect((await stage.event(tenant, id, 'volume.diverged')).details).toEqual({
      name: 'data',
      nodeId: 'promote-1',
      epoch: 1,
      path: '/var/lib/berth/diverged-1',
    });
    const { replicas } = await volumeOnce(tenant.call, id, (body) => body.replicas[1].state === 'syncing');
    expect(replicas[1]).toMatchObject({ nodeId: 'promote-1', formerEpoch: 1 });
  });

  it('is promoted only where the residency of its consumer allows', async () => {
    const tenant = await plane.tenant('resident');
    const german = { 'berth.io/country': 'DE' };
    const one = await stage.node(tenant, 'resident-1', german);
    await stage.node(tenant, 'resident-2', { 'berth.io/country': 'FR' });
    const three = await stage.node(tenant, 'resident-3', german);
    const id = await createVolume(tenant.call, 'data', { nodeId: 'resident-1' });
    one.volumes = [primary(id, 1)];
    await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
    await deploy(tenant.call, 'app', {
      volumes: [{ volumeId: id, mountPath: '/data' }],
      placement: { residency: { country: 'DE' } },
    });
    const path = `/api/v1/tenants/resident/volumes/${id}/replicas`;
    const foreign = await tenant.call('POST', path, { node_id: 'resident-2' });
    expect([foreign.status, foreign.body.code]).toEqual([422, 'node_not_a_placement_candidate']);
    expect((await tenant.call('POST', path, { node_id: 'resident-3' })).status).toBe(201);
    one.volumes = [primary(id, 1, [{ nodeId: 'resident-3', state: 'live', sequence: 1, ageMs: 0 }])];
    three.volumes = [replica(id, 1, 1)];
    await volumeOnce(tenant.call, id, ({ replicas }) => replicas[0]?.state === 'live');
    one.die();
    const { primaryNodeId } = await volumeOnce(tenant.call, id, ({ epoch }) => epoch === 2);
    expect(primaryNodeId).toBe('resident-3');
  });
});

describe('a primary that is drained', () => {
  it('stops its writer when the other node has the image, whose credential that node alone is given', async () => {
    const tenant = await plane.tenant('fetch');
    const features = [SEAL_FEATURE, PREPARE_FEATURE];
    const one = await stage.node(tenant, 'fetch-1', undefined, features);
    const two = await stage.node(tenant, 'fetch-2', undefined, features);
    const id = await stage.volume(tenant, 'data', [one, two]);
    const credential = { username: 'fetcher', password: 'fetched-0123456789' };
    await tenant.call('PUT', '/api/v1/secrets/registries/localhost%3A1', { values: credential });
    one.obliges = true;
    await deploy(tenant.call, 'app', { volumes: [{ volumeId: id, mountPath: '/data' }] });
    await eventually(
      () => tenant.call('GET', '/api/v1/deployments/app'),
      ({ body }) => body.status?.phase === 'Running',
      SLOW_MS,
    );
    const drained = await tenant.call('POST', '/api/v1/nodes/fetch-1/drain');
    expect(drained.body.movable).toEqual([
      expect.objectContaining({
        to: 'fetch-2',
        how: 'switchover',
        why: expect.stringMatching(/its image is fetched there, then what mounts it stops/),
      }),
    ]);
    const image = 'localhost:1/shop/web:1.0.0';
    await two.assignment(({ volumes }) => volumes?.[0]?.prepare?.join() === image);
    const answered = async (by: VolumeAgent, asked: string) => {
      by.agent.send({ type: 'resolve-image', requestId: asked, volumeId: id, image: asked });
      const { type: _type, ...answer } = await by.agent.next('resolved');
      return answer;
    };
    const refused = { ok: false, reason: 'not_assigned' };
    expect(await answered(two, image)).toEqual({
      requestId: image,
      ok: true,
      environment: {},
      registry: credential,
    });
    expect(await answered(one, image)).toMatchObject(refused);
    expect(await answered(two, 'localhost:1/shop/other:1')).toMatchObject(refused);
    const [writer] = await flow.instances(tenant, 'app', 1);
    expect([writer?.nodeId, writer?.wanted]).toEqual(['fetch-1', 'run']);
    expect((await volumeOnce(tenant.call, id, () => true)).switchover).toMatchObject({ step: 'preparing' });

    two.volumes = [{ ...replica(id, 1, 1), prepared: { images: [image] } }];
    const { volumes } = await one.assignment((orders) => orders.volumes?.[0]?.seal !== undefined);
    expect(volumes?.[0]).toMatchObject({ id, role: 'primary', seal: 1 });
    expect(await answered(two, image)).toMatchObject(refused);
  });
});

describe('a lost primary without a live copy', () => {
  it('leaves the volume Degraded until it returns', async () => {
    const tenant = await plane.tenant('alone');
    const one = await stage.node(tenant, 'alone-1');
    await stage.node(tenant, 'alone-2');
    const id = await createVolume(tenant.call, 'data', { nodeId: 'alone-1', replicas: 1 });
    // The copy was begun and never complete.
    one.volumes = [primary(id, 1, [{ nodeId: 'alone-2', state: 'syncing' }])];
    await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
    one.die();
    const degraded = await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Degraded');
    expect(degraded).toMatchObject({ primaryNodeId: 'alone-1', epoch: 1 });
    expect(degraded.message).toBe('its primary alone-1 does not answer, and no live copy can take its place');
    expect((await stage.event(tenant, id, 'volume.degraded')).message).toContain('alone-1 does not answer');
    const refused = await tenant.call('POST', '/api/v1/deployments', {
      name: 'late',
      image: 'localhost:1/shop/web:1.0.0',
      volumes: [{ volumeId: id, mountPath: '/data' }],
    });
    expect([refused.status, refused.body.code]).toEqual([409, 'volume_not_ready']);
    const back = await dialVolumeAgent(flow, tenant, one.identity);
    stage.keep(back);
    back.volumes = one.volumes;
    back.beatEvery(BEAT_MS);
    const again = await volumeOnce(tenant.call, id, ({ phase }) => phase === 'Ready');
    expect(again).toMatchObject({ primaryNodeId: 'alone-1', epoch: 1 });
  });
});
