import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/** Longer than the disk, or etcd, has for an answer. */
const SUSPENDED_MS = 12_000;
const WRITERS = 16;
const LIMITS = { BERTH_RATE_LIMIT_PER_SECOND: '100000', BERTH_RATE_LIMIT_BURST: '100000' };

/** In the long tier: it is time that passes. How time is counted has tests in every run (`src/server/clock.test.ts`). */
describe.runIf(LONG_TIER)('a control plane that is suspended with commits under way', () => {
  let pushed: PushedImageRegistry;
  let etcd: Etcd;
  beforeAll(async () => {
    [pushed, etcd] = await Promise.all([startPushedImage(), startEtcd()]);
  });
  afterAll(async () => {
    await Promise.all([pushed.stop(), etcd.stop()]);
  });

  it.each(['embedded', 'etcd'])(
    'answers all of them once it runs again, and has them, on %s',
    { timeout: 120_000 },
    async (store) => {
      const [endpoint = ''] = etcd.endpoints;
      const plane = await new PlaneProcess({
        ...LIMITS,
        ...(store === 'etcd' ? { BERTH_STORE_KIND: 'etcd', BERTH_STORE_ETCD_ENDPOINTS: endpoint } : {}),
      }).start();
      try {
        const { call } = await plane.tenant('shop');
        const answers: number[] = [];
        const names: string[] = [];
        let isOver = false;
        const write = async (): Promise<void> => {
          while (!isOver) {
            const name = `web-${names.length}`;
            names.push(name);
            const { status } = await call('POST', '/api/v1/deployments', { name, image: pushed.image });
            answers.push(status);
          }
        };
        const writing = Promise.all(Array.from({ length: WRITERS }, write));
        for (let round = 1; round <= 2; round += 1) {
          await eventually(
            'writes',
            async () => answers.length,
            (count) => count > round * 100,
            30_000,
          );
          plane.pause();
          const before = answers.length;
          await pause(SUSPENDED_MS);
          expect(answers.length - before).toBeLessThanOrEqual(WRITERS);
          plane.resume();
          await eventually(
            'answers',
            async () => answers.length,
            (count) => count > before + WRITERS,
            30_000,
          );
        }
        isOver = true;
        await writing;
        expect(answers.filter((status) => status !== 201)).toEqual([]);
        const lost: string[] = [];
        for (const name of names)
          if ((await call('GET', `/api/v1/deployments/${name}`)).status !== 200) lost.push(name);
        expect(lost).toEqual([]);
      } finally {
        plane.resume();
        await plane.end('SIGKILL');
      }
    },
  );
});
