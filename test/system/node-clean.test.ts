import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { EngineTransport, enginePath } from '../../src/agent/engine/transport.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import { SmallDisk } from '../support/harness/small-disk.ts';
import { lookSteadily } from '../support/steady-look.ts';

/** Rollouts on a small disk: images that nobody needs go, and none else. In the long tier; the plan and the answers have tests in every run. */

const MIB = 2 ** 20;
const DISK_BYTES = 512 * MIB;
const LAYER_BYTES = 24 * MIB;
const ROUNDS = { docker: 200, podman: 30 } as const;
const [FROM, TO] = [80, 70];

describe.each(['docker', 'podman'] as const)('on %s', (kind) => {
  let disk: SmallDisk;
  let cluster: Cluster;
  let shop: Tenant;
  let node: ClusterNode;
  let registry: Registry;
  let made = 0;

  beforeAll(async () => {
    disk = new SmallDisk(DISK_BYTES);
    cluster = await startCluster();
    shop = await cluster.plane.tenant('shop');
    node = await cluster.node('clean-1', shop, {
      ...(kind === 'docker'
        ? { engine: { args: [`--data-root=${disk.path}`] } }
        : { podman: { root: disk.path } }),
      environment: { BERTH_AGENT_CLEAN_DISK: `${FROM},${TO}` },
    });
    registry = await startRegistry({ address: node.engine.namespace?.hostAddress ?? '' });
    await cluster.plane.end('SIGTERM');
    await cluster.plane.start({ BERTH_REGISTRIES_ALLOW_PRIVATE: `http://${registry.host}` });
    await cluster.deploy(shop, { name: 'steady', replicas: 2 });
    await cluster.phase(shop, 'steady', 'Running');
  }, 60_000);

  afterAll(async () => {
    await registry?.stop();
    try {
      await cluster?.stop();
    } finally {
      disk?.remove();
    }
  });

  interface Version {
    readonly image: string;
    /** As the node pulls it. */
    readonly pinned: string;
  }

  /** Another image of the repository, of so many bytes that are like no other's. */
  async function pushed(repository: string, bytes: number): Promise<Version> {
    made += 1;
    const files = [{ path: 'blob', data: randomBytes(bytes) }];
    const { reference, digest } = await pushImage(registry, `${repository}:${made}`, { files });
    return { image: reference, pinned: `${reference.slice(0, reference.lastIndexOf(':'))}@${digest}` };
  }

  const names = async (): Promise<readonly string[]> =>
    (await node.docker.listImages()).flatMap(({ tags, digests }) => [...tags, ...digests]).toSorted();
  const fullPercent = (): number => 100 * (1 - disk.freeBytes / DISK_BYTES);

  async function runs(name: string, { image }: Version): Promise<void> {
    const { body } = await shop.call('GET', `/api/v1/deployments/${name}`);
    if (body.code === undefined) await cluster.update(shop, name, { image });
    else await cluster.deploy(shop, { name, image });
    await cluster.status(
      shop,
      name,
      `runs ${image}`,
      ({ phase, rollout }) => phase === 'Running' && rollout.state === 'complete',
      90_000,
    );
    await eventually(
      'the old container is gone',
      () => node.containers(name),
      (all) => all.length === 1 && all[0]?.status === 'running',
      90_000,
    );
  }

  it.skipIf(!LONG_TIER)(
    'removes what nobody needs when it is asked, and says why the rest stays',
    async () => {
      const pids = lookSteadily(() => cluster.pids('steady'), await cluster.pids('steady'));
      const versions: Version[] = [];
      for (let count = 0; count < 6; count += 1) {
        const version = await pushed('shop/web', MIB);
        versions.push(version);
        await runs('web', version);
      }
      // Somebody's own name for the oldest, and an image that was pulled by hand.
      const transport = new EngineTransport(node.engine.socketPath);
      const path = enginePath(['v1.41', 'images', versions[0]?.pinned ?? '', 'tag']);
      await transport.call({ method: 'POST', path: `${path}?repo=mine&tag=1` });
      const foreign = await pushed('shop/web', MIB);
      await node.docker.pull(foreign.pinned);

      const clean = (dryRun: boolean) => shop.call('POST', `/api/v1/nodes/clean-1/clean?dryRun=${dryRun}`);
      const before = await names();
      const planned = await clean(true);
      expect(planned.status, JSON.stringify(planned.body)).toBe(200);
      expect(await names()).toEqual(before);
      const done = await clean(false);
      expect(done.body.removed).toEqual(planned.body.removed);
      // Three before the present one stay.
      expect(done.body.removed.map(({ image }: { image: string }) => image)).toEqual([versions[1]?.pinned]);
      const reasons = new Map(
        done.body.kept.map((one: { image: string; reason: string }) => [one.image, one.reason]),
      );
      expect(versions.map(({ pinned }) => reasons.get(pinned))).toEqual([
        'named_otherwise',
        undefined,
        'needed',
        'needed',
        'needed',
        'in_use',
      ]);
      const left = await names();
      for (const { pinned } of [...versions.filter((_, at) => at !== 1), foreign])
        expect(left).toContain(pinned);
      expect(left).not.toContain(versions[1]?.pinned);
      const [event] = await eventually(
        'the event',
        () => cluster.events(shop, 'node.cleaned', 'clean-1'),
        (events) => events.length > 0,
      );
      expect(event?.details).toMatchObject({ cause: 'asked', images: [{ image: versions[1]?.pinned }] });
      const { changes } = await pids.end();
      expect(changes).toEqual([]);
    },
    240_000,
  );

  it.skipIf(!LONG_TIER)(
    'keeps room on a small disk under rollouts',
    async () => {
      const pids = lookSteadily(() => cluster.pids('steady'), await cluster.pids('steady'));
      const versions: Version[] = [];
      let highest = 0;
      const rounds = ROUNDS[kind];
      for (let round = 1; round <= rounds; round += 1) {
        const version = await pushed('shop/large', LAYER_BYTES);
        versions.unshift(version);
        await runs('large', version);
        highest = Math.max(highest, fullPercent());
        const there = await names();
        for (const { pinned } of versions.slice(0, 4)) expect(there, `round ${round}`).toContain(pinned);
        if (fullPercent() >= FROM)
          await eventually('there is room again', fullPercent, (full) => full < TO, 60_000);
      }
      const left = new Set((await names()).filter((name) => versions.some(({ pinned }) => pinned === name)));
      const imagesOf = (events: Awaited<ReturnType<Cluster['events']>>) =>
        events.flatMap(({ details }) => (details?.['images'] as readonly unknown[]) ?? []);
      // What the rate of events holds back comes a little later.
      const events = await eventually(
        'every removal is in an event',
        () => cluster.events(shop, 'node.cleaned', 'clean-1'),
        (found) => imagesOf(found).length - 1 + left.size >= rounds,
        60_000,
      );
      const removed = imagesOf(events);
      const { looks, changes } = await pids.end();
      console.log(
        `${kind}: ${rounds} rounds: at most ${highest.toFixed(0)} % full, ${fullPercent().toFixed(0)} % at the end; ${removed.length} images removed by ${events.length} events, ${left.size} left; 0 of 2 containers touched in ${looks} looks`,
      );
      expect(changes).toEqual([]);
      expect(removed.length - 1 + left.size).toBe(rounds);
      expect(fullPercent()).toBeLessThan(FROM);
    },
    ROUNDS[kind] * 60_000 + 60_000,
  );

  it.skipIf(!LONG_TIER)(
    'says that its disk is full, or that its engine does not work, keeps new work away for so long, and counts what is asked for',
    async () => {
      const pids = lookSteadily(() => cluster.pids('steady'), await cluster.pids('steady'));
      const seen = async () => (await shop.call('GET', '/api/v1/nodes/clean-1')).body;
      const conditions = async () => JSON.stringify((await seen()).conditions);
      const why = async (name: string): Promise<string> =>
        (
          await cluster.status(shop, name, 'is not placed', ({ message }) =>
            /no node takes it/.test(message ?? ''),
          )
        ).message;
      const asks = (disk: string) => ({ resources: { requests: { disk } } });
      await cluster.deploy(shop, { name: 'hungry', ...asks('4Gi') });
      const short = await why('hungry');
      expect(short).toMatch(/disk/);
      // What it writes is its own: the room for others stays as it is.
      await cluster.deploy(shop, {
        name: 'writer',
        ...asks('96Mi'),
        command: ['sh', '-c', 'dd if=/dev/zero of=/w bs=1M count=64; sleep 3600'],
      });
      await cluster.phase(shop, 'writer', 'Running');
      const before = (await seen()).disk as { roomBytes: number } | undefined;

      disk.fill();
      const full = await eventually('the condition', conditions, (text) => text.includes('"disk"'), 60_000);
      await cluster.deploy(shop, { name: 'waits' });
      const kept = await why('waits');
      disk.free();
      await eventually('it is over', conditions, (text) => text === '[]', 60_000);
      await cluster.phase(shop, 'waits', 'Running', 60_000);

      node.engine.pause();
      const away = await eventually(
        'the engine is away',
        conditions,
        (text) => text.includes('"engine"'),
        120_000,
      );
      node.engine.resume();
      await eventually('it is back', conditions, (text) => text === '[]', 60_000);
      console.log([kind, JSON.stringify(before), short, full, kept, away].join('\n'));
      const { changes } = await pids.end();
      expect(changes).toEqual([]);
      for (const name of ['hungry', 'writer', 'waits'])
        await shop.call('DELETE', `/api/v1/deployments/${name}`);
    },
    400_000,
  );
});
