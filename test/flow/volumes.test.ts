import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { deploy, eventKinds, eventually, NodeFlow } from '../support/node-flow.ts';
import { createVolume, MIB, volumeAgent, volumeOnce, VOLUMES } from '../support/volume-flow.ts';

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
