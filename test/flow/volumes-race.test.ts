import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { VolumeClaims } from '../../src/core/model/volume.ts';
import type { TenantId } from '../../src/core/model/ids.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { type Answer, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { createVolume, volumeOnce, VOLUMES } from '../support/agents/volume-agent.ts';
import { inTier } from '../support/fault-tier.ts';

const ROUNDS = inTier({ usual: 30, long: 200 });

const PARALLEL = 8;

/** A registry that answers: one that cannot be reached is only said to be so after half a second, and nobody would race then. */
let pushed: PushedImageRegistry;
let plane: ControlPlane;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await startControlPlane([], {
    BERTH_REGISTRIES_ALLOW_PRIVATE: pushed.config['registries.allowPrivate'].join(','),
    BERTH_RATE_LIMIT_PER_SECOND: '1000000',
    BERTH_RATE_LIMIT_BURST: '1000000',
  });
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  await plane.close();
  await pushed.stop();
});

function claims(id: string): VolumeClaims | undefined {
  return plane.store.forTenant(shop.id as TenantId).get('volume-claims', idOf('volume-claims', id))?.record;
}

/** In memory: it is Ready without an agent, and ReadWriteOnce like the others. */
async function readyVolume(name: string): Promise<string> {
  const id = await createVolume(shop.call, name, { class: 'ephemeral', type: 'tmpfs' });
  await volumeOnce(shop.call, id, ({ phase }) => phase === 'Ready');
  return id;
}

function mounting(name: string, volumeId: string, readOnly = false): Promise<Answer> {
  return shop.call('POST', '/api/v1/deployments', {
    name,
    image: pushed.image,
    replicas: 0,
    volumes: [{ volumeId, mountPath: '/data', readOnly }],
  });
}

const told = ({ status, body }: Answer) => (status < 300 ? status : `${status} ${body.code}`);

describe('of writers that come at once (C-03)', () => {
  it(`exactly one gets the volume, in ${ROUNDS} rounds`, async () => {
    const id = await readyVolume('raced');
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: PARALLEL }, (_, index) => mounting(`w-${round}-${index}`, id)),
      );
      const winners = answers.filter(({ status }) => status === 201);
      expect(answers.map(told).sort()).toEqual([
        201,
        ...Array.from({ length: PARALLEL - 1 }, () => '409 volume_access_mode_conflict'),
      ]);
      const name = winners[0]?.body.name as string;
      expect(claims(id)).toEqual({ writer: name, readers: [] });
      expect((await shop.call('DELETE', `/api/v1/deployments/${name}`)).status).toBe(200);
      expect(claims(id)).toBeUndefined();
    }
  }, 300_000);

  it('also when they come by update', async () => {
    const id = await readyVolume('raced-put');
    const names = Array.from({ length: PARALLEL }, (_, index) => `put-${index}`);
    for (const name of names)
      await shop.call('POST', '/api/v1/deployments', { name, image: pushed.image, replicas: 0 });
    for (let round = 0; round < 10; round += 1) {
      const volumes = [{ volumeId: id, mountPath: '/data', readOnly: false }];
      const answers = await Promise.all(
        names.map((name) => shop.call('PUT', `/api/v1/deployments/${name}`, { volumes })),
      );
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      const name = winners[0]?.body.name as string;
      expect(claims(id)?.writer).toBe(name);
      expect((await shop.call('PUT', `/api/v1/deployments/${name}`, { volumes: [] })).status).toBe(200);
    }
  });
});

describe('of a mount and a deletion that come at once', () => {
  it('one passes and the other is told why', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await readyVolume(`doomed-${round}`);
      const name = `reader-${round}`;
      const [mounted, deleted] = await Promise.all([
        mounting(name, id, true),
        shop.call('DELETE', `${VOLUMES}/${id}`),
      ]);
      if (mounted.status === 201) {
        expect(told(deleted)).toBe('409 volume_in_use');
        expect(claims(id)).toEqual({ readers: [name] });
      } else {
        expect(deleted.status).toBe(200);
        expect(['404 volume_not_found', '409 volume_not_ready']).toContain(told(mounted));
        expect(claims(id)).toBeUndefined();
      }
    }
  });
});

describe('a claim', () => {
  it('follows rollback, restore, access mode and deletion', async () => {
    const id = await readyVolume('followed');
    const mount = { volumeId: id, mountPath: '/data' };
    await shop.call('POST', '/api/v1/deployments', {
      name: 'app',
      image: pushed.image,
      replicas: 0,
      volumes: [mount],
    });
    expect(claims(id)).toEqual({ writer: 'app', readers: [] });
    const backup = await shop.call('POST', '/api/v1/backups', { deploymentName: 'app' });
    await shop.call('PUT', '/api/v1/deployments/app', { volumes: [{ ...mount, readOnly: true }] });
    expect(claims(id)).toEqual({ readers: ['app'] });
    await shop.call('PUT', '/api/v1/deployments/app', { volumes: [] });
    expect(claims(id)).toBeUndefined();
    await shop.call('POST', '/api/v1/deployments/app/rollback', { version: 1 });
    expect(claims(id)).toEqual({ writer: 'app', readers: [] });
    await mounting('other', id, true);
    expect(claims(id)).toEqual({ writer: 'app', readers: ['other'] });
    await shop.call('DELETE', '/api/v1/deployments/app');
    expect(claims(id)).toEqual({ readers: ['other'] });
    expect((await mounting('third', id)).status).toBe(201);
    const restored = await shop.call('POST', `/api/v1/backups/${backup.body.id}/restore`);
    expect(told(restored)).toBe('409 volume_access_mode_conflict');
    await shop.call('DELETE', '/api/v1/deployments/third');
    expect((await shop.call('POST', `/api/v1/backups/${backup.body.id}/restore`)).status).toBeLessThan(300);
    expect(claims(id)).toEqual({ writer: 'app', readers: ['other'] });
  });
});
