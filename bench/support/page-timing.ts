import { countOwnBytes } from '../../test/support/harness/browser.ts';
import type { BrowserContext, Page } from 'playwright-core';

/** One thing that a person does: the input, and when what it asked for is on the screen. */
export interface Interaction {
  readonly kind: string;
  readonly act: (page: Page) => Promise<void>;
  /** An expression of the page that is true when the result is drawn. */
  readonly shown: string;
}

/** Answers that take this long count as never. */
const PATIENCE_MS = 10_000;

/**
 * From the moment the browser took the input to the frame after the one in which the result is there. Event Timing would end at the next
 * frame, whether it shows the result or not.
 */
export async function timeOf(page: Page, { act, shown, kind }: Interaction): Promise<number> {
  await page.evaluate(`(() => {
    let taken;
    const take = ({ timeStamp }) => { taken ??= timeStamp; };
    for (const type of ['pointerdown', 'keydown']) addEventListener(type, take, { capture: true, once: true });
    window.answered = new Promise((resolve) => {
      const begun = performance.now();
      const look = () => {
        if (taken !== undefined && (${shown})) {
          const drawn = new MessageChannel();
          drawn.port1.onmessage = () => resolve(performance.now() - taken);
          drawn.port2.postMessage(0);
        } else if (performance.now() - begun > ${PATIENCE_MS}) resolve(-1);
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  })()`);
  await act(page);
  const took = await page.evaluate<number>('window.answered');
  if (took < 0) throw new Error(`${kind}: nothing came of it in ${PATIENCE_MS / 1000} s`);
  return took;
}

/** What the page's main thread has worked so far, in milliseconds of processor time: unlike waits, the same on a busy machine. */
export async function workOf(page: Page): Promise<() => Promise<number>> {
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await client.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000;
  };
}

/** Gaps between frames while the list scrolls from its top to its end. */
export async function framesOf(
  page: Page,
  list: string,
  steps: number,
): Promise<{ readonly gaps: readonly number[]; readonly rows: number }> {
  return page.evaluate<{ gaps: number[]; rows: number }>(`(async () => {
    const scroller = [...document.querySelectorAll('[aria-label=${list}]')].find((e) => e.scrollHeight > e.clientHeight + 100);
    if (scroller === undefined) throw new Error('nothing to scroll');
    const gaps = [];
    let last = performance.now();
    for (let step = 1; step <= ${steps}; step += 1) {
      scroller.scrollTop = (scroller.scrollHeight * step) / ${steps};
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      gaps.push(now - last);
      last = now;
    }
    return { gaps, rows: document.querySelectorAll('tbody tr').length };
  })()`);
}

export interface Load {
  /** What the dashboard itself took, as it came over the network. */
  readonly bytes: number;
  readonly paintedMs: number;
}

/** A first visit: nothing of it is cached. Ends when the page is drawn, its chart too. */
export async function firstLoad(context: BrowserContext, url: string): Promise<Load> {
  const page = await context.newPage();
  const bytes = await countOwnBytes(page);
  await page.goto(url);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('img', { name: /events? in the last/ }).waitFor();
  await page.evaluate('document.fonts.ready');
  const paintedMs = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1",
  );
  await page.close();
  return { bytes: bytes(), paintedMs };
}

/** From the start of the navigation, as the page itself counts it. */
export async function loadedAfter(page: Page, address: string, shown: string): Promise<number> {
  await page.addInitScript({ content: `window.isShown = () => (${shown});` });
  await page.goto(address, { waitUntil: 'commit' });
  return page.evaluate<number>(`new Promise((resolve) => {
    const look = () => (window.isShown() ? resolve(performance.now()) : requestAnimationFrame(look));
    look();
  })`);
}
