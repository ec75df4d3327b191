import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { Transaction } from '../../src/server/store/transaction.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { countOwnBytes, openPage, isTooWide, seriousFindings, signIn } from '../support/harness/browser.ts';
import { type DashboardStage, dashboardStage, IMAGE } from '../support/harness/dashboard-stage.ts';

/** Every page, with something on it. */
const PAGES = [
  '/',
  '/deployments',
  '/deployments/web',
  '/deployments/web?tab=logs',
  '/deployments/web?tab=terminal',
  '/deployments/web?tab=events',
  '/deployments/web?tab=rollout',
  '/deployments/web?tab=configuration',
  '/deployments/web?tab=secrets',
  '/deployments/web/edit',
  '/deployments/new',
  '/deployments/ledger/explain',
] as const;

const MANY = inTier({ usual: 1000, long: 5000 });
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
/** Run as a script, it would leave a mark; shown as text, it stays what it is. */
const SCRIPT = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';

let stage: DashboardStage;

beforeAll(async () => {
  stage = await dashboardStage({ BERTH_SESSIONS_IDLE: '1h' });
  await stage.agent('berlin-1', { labels: { 'berth.io/country': 'DE', rack: SCRIPT }, logLines: [SCRIPT] });
  await stage.agent('paris-1', {
    labels: { 'berth.io/country': 'FR' },
    judge: ({ deployment }) =>
      deployment === 'mailer' ? { phase: 'failed', reason: 'image_pull_failed', message: SCRIPT } : undefined,
  });
  await stage.deploy('web', {
    replicas: 2,
    command: ['/bin/web', SCRIPT],
    environment: { BANNER: SCRIPT },
    labels: { note: SCRIPT },
    secrets: [
      { name: 'DB', vault_path: 'resources/db', anchor: 'process', generate: { keys: ['password'] } },
    ],
  });
  await stage.deploy('mailer', { nodeId: 'paris-1' });
  await stage.deploy('ledger', { placement: { constraints: { rack: SCRIPT, disk: 'ssd' } } });
  await stage.shop.call('PUT', '/api/v1/deployments/web', { environment: { BANNER: `${SCRIPT}2` } });
});
afterEach(() => stage.rest());
afterAll(() => stage.close());

/** Everything that was being read has come. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
}

describe('every page', () => {
  it('shows scripts as text, breaks no policy, asks no other host, and fits a narrow screen', async () => {
    const { page, complaints, hosts } = await stage.open('/', WIDE);
    const wider: string[] = [];
    for (const path of PAGES) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      await page.setViewportSize(NARROW);
      if (await isTooWide(page)) wider.push(path);
      await page.setViewportSize(WIDE);
    }
    expect(wider).toEqual([]);
    await page.goto(`${stage.plane.url}/deployments/web?tab=logs`);
    await page.getByRole('log').getByText(SCRIPT).first().waitFor();
    await page.goto(`${stage.plane.url}/deployments/web?tab=configuration`);
    await page.getByRole('region', { name: 'History' }).getByText(SCRIPT).first().waitFor();
    await page.goto(`${stage.plane.url}/deployments/mailer`);
    await page.getByText(SCRIPT).first().waitFor();
    await page.goto(`${stage.plane.url}/deployments/ledger/explain`);
    await page.getByText(SCRIPT).first().waitFor();
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(stage.plane.url).host]);
  });

  // The long tier looks at all pages in one theme; in the other, at those that have every kind of part, since only colours differ there.
  it.each([
    [
      'light',
      1280,
      LONG_TIER ? PAGES : ['/deployments/web', '/deployments/new', '/deployments/ledger/explain'],
    ],
    [
      'dark',
      390,
      [
        '/',
        '/deployments/web?tab=secrets',
        ...(LONG_TIER ? ['/deployments/web', '/deployments/ledger/explain'] : []),
      ],
    ],
  ] as const)('is without serious findings of accessibility, %s at %i', async (theme, width, paths) => {
    const { page } = await stage.open('/', { theme, width });
    const found: string[] = [];
    for (const path of paths) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      found.push(...(await seriousFindings(page, path)));
    }
    expect(found).toEqual([]);
  });

  it('has its navigation behind a button on a narrow screen', async () => {
    const { page } = await stage.open('/', NARROW);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Deployments' }).first().click();
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
  });

  it('is reached with the keyboard alone', async () => {
    const { page } = await stage.open('/deployments');
    await settled(page);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.getByRole('link', { name: 'web', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('tab', { name: 'Instances' }).waitFor();
    await page.getByRole('tab', { name: 'Instances' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('log').waitFor();
    await page.getByRole('button', { name: 'Scale' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Scale');
  });
});

describe('keys', () => {
  it('find, go and help, take nothing from who types, and give the focus back', async () => {
    const { page } = await stage.open('/deployments');
    await settled(page);
    await page.keyboard.press('/');
    await page.keyboard.type('g j?');
    expect(await page.getByLabel('Find deployments').inputValue()).toBe('g j?');
    await page.getByRole('button', { name: 'Find' }).focus();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Find pages, actions and records' });
    await field.fill('ledg');
    await page.getByRole('option', { name: 'ledger' }).waitFor();
    expect(await seriousFindings(page, 'the palette')).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Find');
    await page.keyboard.press('Control+k');
    await field.fill('ledg');
    await page.getByRole('option', { name: 'ledger' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'ledger', level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  });
});

describe('a session in the browser', () => {
  it('leaves no token where a script could find it', async () => {
    const { page, context } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, stage.shop.token);
    const seen = await page.evaluate(
      'document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }) + location.href + document.body.outerHTML',
    );
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    for (const secret of [stage.shop.token, cookie?.value]) expect(seen).not.toContain(secret);
  });

  it('ends at the next request when its token is revoked, and says so', async () => {
    const made = await stage.shop.call('POST', '/api/v1/tokens', { name: 'brief', role: 'viewer' });
    const { page } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, made.body.token as string);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('link', { name: 'New deployment' }).count()).toBe(0);
    await stage.shop.call('DELETE', `/api/v1/tokens/${made.body.id as string}`);
    await page.getByText('Your session has ended').waitFor();
    await signIn(page, stage.plane.url, stage.shop.token);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('ends while a form is open, and what was entered is there after signing in again, for who may have it', async () => {
    const token = async (name: string, role: string) =>
      (await stage.shop.call('POST', '/api/v1/tokens', { name, role })).body as { id: string; token: string };
    const again = async (page: Page, as: string) => {
      await page.getByText('Your session has ended').waitFor();
      await page.getByLabel('Access token').fill(as);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    const brief = await token('brief-editor', 'deployer');
    const { page } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, brief.token);
    await page.goto(`${stage.plane.url}/deployments/mailer/edit`);
    await page.getByLabel('Replicas').fill('7');
    await stage.shop.call('DELETE', `/api/v1/tokens/${brief.id}`);
    // Changed meanwhile: what was being edited is still of the revision before.
    await stage.shop.call('PUT', '/api/v1/deployments/mailer', { labels: { team: 'mail' } });
    const viewer = await token('viewer', 'viewer');
    await again(page, viewer.token);
    await page.getByText('This page is not for your role').waitFor();
    await stage.shop.call('DELETE', `/api/v1/tokens/${viewer.id}`);
    await again(page, (await token('next', 'deployer')).token);
    await page.getByText('What you had entered when your session ended is back').waitFor();
    expect(await page.getByLabel('Replicas').inputValue()).toBe('7');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('alert').getByText('revision_mismatch').waitFor();
  });

  it('ends with signing out, in every tab, and what was entered there is forgotten', async () => {
    const { page, context } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, stage.shop.token);
    const other = await context.newPage();
    await other.goto(`${stage.plane.url}/deployments/mailer/edit`);
    await other.getByLabel('Replicas').fill('9');
    await page.getByRole('button', { name: /^Signed in as .+, tenant-admin/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    await other.getByLabel('Access token').fill(stage.shop.token);
    await other.getByRole('button', { name: 'Sign in' }).click();
    expect(await other.getByLabel('Replicas').inputValue()).toBe('1');
  });

  it('acts for the tenant that a platform administrator chooses', async () => {
    await stage.plane.tenant('bank');
    const { page } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, 'bootstrap-token-of-the-tests-0123456789');
    const choose = async (slug: string) => {
      await page.getByRole('button', { name: /choose another/ }).click();
      await page.getByRole('menuitemradio', { name: slug }).click();
      await page.getByRole('button', { name: `Tenant ${slug}: choose another` }).waitFor();
    };
    await choose('shop');
    await page.getByRole('link', { name: 'Deployments' }).first().click();
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    await choose('bank');
    await page.getByText('No deployments yet').waitFor();
    await page.reload();
    await page.getByText('No deployments yet').waitFor();
    await page.getByRole('link', { name: 'All tenants' }).click();
    const worst = page.getByRole('region', { name: 'Tenants' }).locator('tbody tr').first();
    await worst.getByText(/^\d+ problems?$/).waitFor();
    await worst.getByRole('button', { name: 'shop' }).click();
    await page.getByRole('region', { name: 'Needs attention' }).getByText('mailer').waitFor();
  });
});

/** Straight into the store: thousands of requests are not what is tried here. */
async function fill(
  { plane }: DashboardStage,
  tenant: { readonly id: string; readonly call: DashboardStage['shop']['call'] },
  count: number,
): Promise<void> {
  await tenant.call('POST', '/api/v1/deployments', { name: 'web-0000', image: IMAGE, replicas: 0 });
  const tenantId = tenant.id as TenantId;
  const made = plane.store.forTenant(tenantId).get('deployments', 'web-0000');
  if (made === undefined) throw new Error('the first one is not there');
  for (let at = 1; at < count; ) {
    const transaction = new Transaction(tenantId);
    for (const end = Math.min(count, at + 100); at < end; at += 1) {
      const name = `web-${String(at).padStart(4, '0')}`;
      const id = `${made.record.id.slice(0, -4)}${String(at).padStart(4, '0')}` as typeof made.record.id;
      const spec = { ...made.record.spec, name };
      transaction.put('deployments', name, { ...made.record, id, spec });
    }
    await plane.store.commit(transaction);
  }
}

describe('speed', () => {
  it('loads little and is ready soon', async () => {
    const { page, context } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, stage.shop.token);
    const fresh = await context.newPage();
    const bytes = await countOwnBytes(fresh);
    const start = performance.now();
    await fresh.goto(stage.plane.url);
    await fresh.getByRole('heading', { name: 'Overview' }).waitFor();
    await fresh.getByRole('region', { name: 'Needs attention' }).waitFor();
    const readyMs = performance.now() - start;
    await fresh.getByRole('img', { name: /events? in the last/ }).waitFor();
    await fresh.evaluate('document.fonts.ready');
    process.stdout.write(
      `dashboard: ${Math.round(bytes() / 1000)} kB first load, ready in ${Math.round(readyMs)} ms\n`,
    );
    expect(bytes()).toBeGreaterThan(50_000);
    expect(bytes()).toBeLessThan(200_000);
  });

  it('draws of thousands of deployments those that are seen', async () => {
    const many = await stage.plane.tenant('many');
    await fill(stage, many, MANY);
    const { page } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, many.token);
    await page.goto(`${stage.plane.url}/deployments`);
    await page.getByText(`${MANY.toLocaleString('en')} deployments`).waitFor();
    // A row that is drawn over with another record gives up the focus.
    await page.getByRole('link', { name: 'web-0000' }).focus();
    const scrollTo = (top: number) =>
      page.evaluate(`[...document.querySelectorAll('[aria-label=Deployments]')]
        .find((e) => e.scrollHeight > e.clientHeight + 1000).scrollTo(0, ${top})`);
    await scrollTo(700);
    await page.getByRole('link', { name: 'web-0000' }).waitFor({ state: 'detached' });
    expect(await page.evaluate("document.activeElement.closest('tbody tr')?.textContent")).toBeUndefined();
    // Frames while the whole list goes by.
    const frames = (await page.evaluate(`(async () => {
      const scroller = [...document.querySelectorAll('[aria-label=Deployments]')].find((e) => e.scrollHeight > e.clientHeight + 1000);
      const gaps = [];
      let last = performance.now();
      for (let step = 1; step <= 120; step += 1) {
        scroller.scrollTop = (scroller.scrollHeight * step) / 120;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        gaps.push(now - last);
        last = now;
      }
      return { gaps, rows: document.querySelectorAll('tbody tr').length };
    })()`)) as { gaps: number[]; rows: number };
    const sorted = frames.gaps.sort((a, b) => a - b);
    process.stdout.write(
      `${MANY.toLocaleString('en')} rows: frame p50 ${sorted[60]?.toFixed(0)} ms, longest ${sorted.at(-1)?.toFixed(0)} ms, ${frames.rows} rows drawn\n`,
    );
    expect(frames.rows).toBeLessThan(120);
    expect(await page.evaluate("document.activeElement.closest('tbody')")).toBeNull();
    const last = page.getByRole('link', { name: `web-${String(MANY - 1).padStart(4, '0')}` });
    await last.waitFor();
    // Filtered while it is scrolled: to nothing and back, then to one.
    const find = page.getByLabel('Find deployments');
    await find.fill('nothing-of-this-name');
    await page.getByText('Nothing matches').waitFor();
    await find.fill('');
    await page.getByRole('link', { name: 'web-0000' }).waitFor();
    await scrollTo(1_000_000);
    await last.waitFor();
    await find.fill('web-0003');
    await page.getByRole('link', { name: 'web-0003' }).waitFor();
  });
});
