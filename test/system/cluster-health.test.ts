import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';

/** What hangs, how containers are told to end, and files that they are given: on real engines. */

let cluster: Cluster;
let shop: Tenant;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  await cluster.node('care-1', shop);
  await cluster.node('care-2', shop);
}, 60_000);

afterEach(async () => {
  await cluster.remove(shop, 'web');
});

afterAll(async () => {
  await cluster.stop();
});

/** Takes connections and answers none of them once its process is stopped: a hang that no exit code tells of. */
const WEB = {
  name: 'web',
  replicas: 2,
  command: ['sh', '-c', 'mkdir /www; echo ok > /www/ok; httpd -f -p 8080 -h /www & wait'],
  healthCheck: {
    type: 'exec',
    command: ['timeout 1 wget -q -O- http://127.0.0.1:8080/ok'],
    interval: '300ms',
    retries: 3,
    restartAfter: '2s',
  },
};

interface Seen {
  readonly id: string;
  readonly attempt: number;
  readonly health?: string;
  readonly containerId?: string;
}

const instances = async (): Promise<readonly Seen[]> =>
  (await shop.call('GET', '/api/v1/deployments/web/instances')).body;

async function hang(id: string): Promise<void> {
  const { body } = await cluster.exec(shop, 'web', ['sh', '-c', 'kill -STOP $(pidof httpd)'], id);
  expect(body.exitCode).toBe(0);
}

describe('an instance that hangs', () => {
  it('is restarted, also two of two, and never both at the same time', async () => {
    await cluster.deploy(shop, WEB);
    await cluster.phase(shop, 'web', 'Running');
    const before = await instances();
    expect(before).toHaveLength(2);
    for (const { id } of before) await hang(id);
    let most = 0;
    const after = await eventually(
      'both are healthy again, in new containers',
      async () => {
        const seen = await instances();
        const running = (await cluster.containers('web')).filter(({ status }) => status === 'running');
        most = Math.max(most, before.length - running.length);
        return seen;
      },
      (seen) => seen.every(({ attempt, health }) => attempt === 1 && health === 'healthy'),
      40_000,
    );
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(most).toBeLessThanOrEqual(1);
    const told = await cluster.events(shop, 'instance.restarted');
    expect(told).toHaveLength(2);
    expect(told[0]?.message).toMatch(
      /is restarted \(restart 1\), unhealthy for \d+ s: the health check failed \d+ times in a row/,
    );
    await cluster.phase(shop, 'web', 'Running');
  });
});
