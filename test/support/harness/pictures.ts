import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Pictures of the guide are committed by hand; with a folder of one's own there are all pages, wider. */
const OWN = process.env['BERTH_SCREENSHOTS_DIR'];
const FOLDER = OWN ?? join(import.meta.dirname, '../../../docs/guide/images');
const WIDE = OWN === undefined ? 1280 : 1440;

/** Whether pages that the guide has no picture of are taken too. */
export const EVERY_PAGE = OWN !== undefined;

type Form = readonly [theme: 'light' | 'dark', width: number, height: number];

export const FORMS: readonly Form[] = [
  ['light', WIDE, 800],
  ['dark', WIDE, 800],
  ['light', 390, 844],
  ['dark', 390, 844],
];

export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
  await page.locator('#navigation [data-live=live]').waitFor({ state: 'attached' });
  await page
    .locator('canvas')
    .first()
    .waitFor({ timeout: 1500 })
    .catch(() => undefined);
}

/** Longer pages are cut. */
const HIGHEST = 2600;

export async function picture(page: Page, name: string, [theme, width, height]: Form): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  // The content scrolls in itself: a window as high as it shows all of it.
  const hidden = EVERY_PAGE
    ? await page.evaluate<number>(
        "(() => { const at = document.querySelector('#content'); return at === null ? 0 : at.scrollHeight - at.clientHeight; })()",
      )
    : 0;
  if (hidden > 0) await page.setViewportSize({ width, height: Math.min(HIGHEST, height + hidden) });
  await page.screenshot({ path: join(FOLDER, `${name}-${width}-${theme}.png`) });
  if (hidden > 0) await page.setViewportSize({ width, height });
}
