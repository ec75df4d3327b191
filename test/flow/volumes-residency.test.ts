import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../support/control-plane.ts';
import { deploy, eventually, type NodeFlow } from '../support/node-flow.ts';
import { primary, PromotionStage } from '../support/promotion-stage.ts';
import { SLOW_MS, volumeOnce } from '../support/volume-flow.ts';

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
