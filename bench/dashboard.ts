import type { Page } from 'playwright-core';
import { openPage, signIn, startBrowser } from '../test/support/harness/browser.ts';
import { buildAll } from '../test/support/harness/built.ts';
import { ensurePackages } from '../test/support/harness/packages.ts';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { enrol } from './support/enrol.ts';
import { percentile } from './support/one-node.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * The dashboard of a large tenant in Chromium: until a list is there, and the frames while the whole of it goes by.
 *   node bench/dashboard.ts [deployments] [nodes]
 */
const DEPLOYMENTS = Number(process.argv[2] ?? 5000);
const NODES = Number(process.argv[3] ?? 500);
const PARALLEL = 16;
const STEPS = 120;

async function many(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

/** Gaps between frames while the list scrolls from its top to its end. */
async function framesOf(page: Page, list: string): Promise<{ gaps: number[]; rows: number }> {
  return (await page.evaluate(`(async () => {
    const scroller = [...document.querySelectorAll('[aria-label=${list}]')].find((e) => e.scrollHeight > e.clientHeight + 100);
    if (scroller === undefined) throw new Error('nothing to scroll');
    const gaps = [];
    let last = performance.now();
    for (let step = 1; step <= ${STEPS}; step += 1) {
      scroller.scrollTop = (scroller.scrollHeight * step) / ${STEPS};
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      gaps.push(now - last);
      last = now;
    }
    return { gaps, rows: document.querySelectorAll('tbody tr').length };
  })()`)) as { gaps: number[]; rows: number };
}

ensurePackages(['chromium-headless-shell']);
buildAll();
const registry = await startRegistry();
const server = await startServerProcess();
const browser = await startBrowser();
try {
  const { reference: image } = await pushImage(registry, 'bench/web:1', {});
  await many(NODES, async (at) => {
    await enrol(server.url, `node-${String(at).padStart(4, '0')}`);
  });
  await many(DEPLOYMENTS, async (at) => {
    // Of no instances: nothing but the list is looked at.
    const spec = { name: `web-${String(at).padStart(5, '0')}`, image, replicas: 0 };
    const { status, body } = await server.call('POST', '/api/v1/deployments', spec);
    if (status !== 201) throw new Error(JSON.stringify(body));
  });
  const { page } = await openPage(browser);
  await signIn(page, server.url, BENCH_TOKEN);
  for (const [list, path, count] of [
    ['Deployments', '/deployments', DEPLOYMENTS],
    ['Nodes', '/nodes', NODES],
  ] as const) {
    const begun = performance.now();
    await page.goto(server.url + path);
    await page.locator('tbody tr').first().waitFor();
    await page.getByText(new RegExp(`^${count.toLocaleString('en')} ${list.toLowerCase()}`)).waitFor();
    const shownMs = performance.now() - begun;
    const { gaps, rows } = await framesOf(page, list);
    console.log(
      `${count.toLocaleString('en')} ${list.toLowerCase()}: shown after ${shownMs.toFixed(0)} ms; frame p50 ${percentile(gaps, 0.5).toFixed(1)} ms, p99 ${percentile(gaps, 0.99).toFixed(1)} ms, longest ${Math.max(...gaps).toFixed(1)} ms; ${rows} rows drawn`,
    );
  }
} finally {
  await browser.close();
  await server.stop();
  await registry.stop();
}
