import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { joinToken, nodeFacts } from '../support/harness/node-flow.ts';
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

  it('does not hold its pause against a rollout under way', { timeout: 120_000 }, async () => {
    const plane = await new PlaneProcess(LIMITS).start();
    let agent: LiveAgent | undefined;
    try {
      const { call } = await plane.tenant('shop');
      const key = agentKey();
      const { body } = await plane.as(await joinToken(call))('POST', '/api/v1/nodes', nodeFacts('n1', key));
      agent = new LiveAgent({ node: 'n1', key, token: body.nodeToken as string }, [plane.url]);
      let isSlow = false;
      const quick = new Set<string>();
      agent.seen = ({ id }) => {
        if (!isSlow) quick.add(id);
        return { health: quick.has(id) ? 'healthy' : 'starting' };
      };
      const status = async () => (await call('GET', '/api/v1/deployments/web')).body.status;
      const spec = {
        name: 'web',
        image: pushed.image,
        healthCheck: { type: 'exec', command: ['probe'] },
        update: { progressDeadline: '10s' },
      };
      const made = await call('POST', '/api/v1/deployments', spec);
      expect([made.status, made.body.why]).toEqual([201, undefined]);
      await eventually('it runs', status, (now) => now?.phase === 'Running');
      isSlow = true;
      await call('PUT', '/api/v1/deployments/web', { environment: { LEVEL: 'debug' } });
      const own = agent;
      await eventually(
        'the new one starts',
        () => own.running.length,
        (count) => count === 2,
      );
      plane.pause();
      await pause(SUSPENDED_MS);
      // It became healthy while nobody listened.
      isSlow = false;
      plane.resume();
      await eventually('the new one runs', status, (now) => now?.phase === 'Running');
      const { body: failed } = await call('GET', '/api/v1/events?kind=deployment.rollout_failed');
      expect(failed).toEqual([]);
    } finally {
      plane.resume();
      await agent?.stop();
      await plane.end('SIGKILL');
    }
  });
});
