import { findings, openPage, signIn, startBrowser, watchPage } from '../test/support/harness/browser.ts';
import { buildAll } from '../test/support/harness/built.ts';
import { ensurePackages } from '../test/support/harness/packages.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { beatFor, openSession, reportOf } from './support/agent-session.ts';
import { interactions } from './support/dashboard-interactions.ts';
import { enrol } from './support/enrol.ts';
import { percentile, until } from './support/one-node.ts';
import { firstLoad, framesOf, loadedAfter, timeOf, workOf } from './support/page-timing.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * The dashboard of a large tenant in Chromium: what a first visit loads, until a list is there, frames while the whole of it goes by, what a
 * person waits for after a key or a click, and findings of accessibility on every page.
 *   node bench/dashboard.ts [deployments] [nodes]
 */
const DEPLOYMENTS = Number(process.argv[2] ?? 5000);
const NODES = Number(process.argv[3] ?? 500);
/** Those that have the instances; the others are enrolled and silent. */
const CONNECTED = Math.min(50, NODES);
const PARALLEL = 16;
const STEPS = 120;
const ROUNDS = 8;
const RELOADS = 5;

async function many(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

const named = (at: number): string => `web-${String(at).padStart(5, '0')}`;
const node = (at: number): string => `node-${String(at).padStart(4, '0')}`;

/** Every page, with something on it; those of one record by a name of the many. */
const PAGES: readonly string[] = [
  '/',
  '/deployments',
  `/deployments/${named(0)}`,
  ...['logs', 'terminal', 'events', 'rollout', 'configuration', 'secrets'].map(
    (tab) => `/deployments/${named(0)}?tab=${tab}`,
  ),
  `/deployments/${named(0)}/edit`,
  `/deployments/${named(0)}/explain`,
  '/deployments/new',
  '/jobs',
  '/jobs/new',
  '/nodes',
  `/nodes/${node(0)}`,
  '/topology',
  '/volumes',
  '/recommendations',
  '/secrets',
  '/networks',
  ...['names', 'ingress', 'named'].map((tab) => `/networks?tab=${tab}`),
  '/events',
  '/webhooks',
  '/backups',
  '/audit',
  '/all-tenants',
  '/tokens',
  '/tenants',
];

ensurePackages(['chromium-headless-shell']);
buildAll();
const registry = await startRegistry();
const server = await startServerProcess({ environment: { BERTH_AGENTS_SESSIONS_PER_SECOND: '10000' } });
const browser = await startBrowser();
try {
  const { reference: image } = await pushImage(registry, 'bench/web:1', {});
  await many(NODES, async (at) => {
    const enrolled = await enrol(server.url, node(at));
    if (at >= CONNECTED) return;
    const { socket, welcome } = await openSession(server.url, enrolled);
    beatFor(socket, reportOf(welcome.epoch), () => welcome.heartbeatMs);
  });
  await many(DEPLOYMENTS, async (at) => {
    const { status, body } = await server.call('POST', '/api/v1/deployments', { name: named(at), image });
    if (status !== 201) throw new Error(JSON.stringify(body));
  });
  await until(
    async () => {
      const { body } = await server.call('GET', `/api/v1/deployments/${named(DEPLOYMENTS - 1)}`);
      return (body as { status: { placed: number } }).status.placed === 1;
    },
    'the placement of the last one',
    100,
  );

  const { page, context } = await openPage(browser);
  await signIn(page, server.url, BENCH_TOKEN);
  await page.close();
  const loads = [];
  for (let at = 0; at < RELOADS; at += 1) loads.push(await firstLoad(context, server.url));
  console.log(
    `first load: ${(Math.max(...loads.map(({ bytes }) => bytes)) / 1000).toFixed(1)} kB compressed; first contentful paint p50 ${percentile(
      loads.map(({ paintedMs }) => paintedMs),
      0.5,
    ).toFixed(0)} ms`,
  );

  for (const [list, path, count] of [
    ['Deployments', '/deployments', DEPLOYMENTS],
    ['Nodes', '/nodes', NODES],
  ] as const) {
    const rows: number[] = [];
    const whole: number[] = [];
    for (let at = 0; at < RELOADS; at += 1) {
      const { page: fresh } = await watchPage(context);
      rows.push(await loadedAfter(fresh, server.url + path, "document.querySelector('tbody tr a') !== null"));
      await fresh.close();
      const { page: other } = await watchPage(context);
      const counted = `${count.toLocaleString('en')} ${list.toLowerCase()}`;
      whole.push(
        await loadedAfter(
          other,
          server.url + path,
          `document.body?.textContent.includes('${counted}') === true`,
        ),
      );
      if (at === RELOADS - 1) {
        const worked = await workOf(other);
        const before = await worked();
        const { gaps, rows: drawn } = await framesOf(other, list, STEPS);
        const each = ((await worked()) - before) / STEPS;
        console.log(
          `${counted}: rows after ${percentile(rows, 0.5).toFixed(0)} ms, all of them after ${percentile(whole, 0.5).toFixed(0)} ms; frame p50 ${percentile(gaps, 0.5).toFixed(1)} ms, p99 ${percentile(gaps, 0.99).toFixed(1)} ms, longest ${Math.max(...gaps).toFixed(1)} ms, processor time ${each.toFixed(1)} ms each; ${drawn} rows drawn`,
        );
      }
      await other.close();
    }
  }

  const { page: used } = await watchPage(context);
  await used.goto(`${server.url}/deployments`);
  await used.getByText(`${DEPLOYMENTS.toLocaleString('en')} deployments`).waitFor();
  const worked = await workOf(used);
  const times = new Map<string, { readonly waited: number; readonly worked: number }[]>();
  for (let round = 0; round < ROUNDS; round += 1)
    for (const interaction of interactions(DEPLOYMENTS, round)) {
      const before = await worked();
      const waited = await timeOf(used, interaction);
      const took = { waited, worked: (await worked()) - before };
      times.set(interaction.kind, [...(times.get(interaction.kind) ?? []), took]);
    }
  const figures = (took: readonly { readonly waited: number; readonly worked: number }[]): string => {
    const waited = took.map((one) => one.waited);
    const work = took.map((one) => one.worked);
    const [p50, p95] = [0.5, 0.95].map((share) => percentile(waited, share).toFixed(0));
    return `p50 ${p50} ms, p95 ${p95} ms, longest ${Math.max(...waited).toFixed(0)} ms; processor time p95 ${percentile(work, 0.95).toFixed(0)} ms`;
  };
  for (const [kind, took] of times) console.log(`  ${kind}: ${figures(took)}`);
  const all = [...times.values()].flat();
  console.log(`${all.length} interactions: ${figures(all)}`);
  await used.close();

  const { page: read } = await watchPage(context);
  const found: string[] = [];
  for (const path of PAGES) {
    await read.goto(server.url + path);
    await read.getByRole('heading', { level: 1 }).waitFor();
    await read.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
    found.push(...(await findings(read, path)));
  }
  for (const finding of found) console.log(`  ${finding}`);
  console.log(`accessibility: ${found.length} findings on ${PAGES.length} pages`);
} finally {
  await browser.close();
  await server.stop();
  await registry.stop();
}
// Sessions of agents would hold it open.
process.exit(0);
