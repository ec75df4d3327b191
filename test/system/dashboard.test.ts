import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPage, signIn, startBrowser } from '../support/harness/browser.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { obligingAgent } from '../support/agents/obliging-agent.ts';
import { startTcpProxy } from '../support/harness/tcp-proxy.ts';

let plane: ControlPlane;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let flow: NodeFlow;
let browser: Browser;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
  flow = new NodeFlow(plane);
  await obligingAgent(flow, 'berlin-1', shop);
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  flow.close();
  await plane.close();
});

async function deploy(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { status, body } = await shop.call('POST', '/api/v1/deployments', {
    name,
    image: 'localhost:1/shop/web:1.0.0',
    ...more,
  });
  expect(body.code).toBeUndefined();
  expect(status).toBe(201);
}

async function signedIn(): Promise<Page> {
  const { page } = await openPage(browser);
  await signIn(page, plane.url, shop.token);
  return page;
}

describe('the dashboard', () => {
  it('is served with a strict policy, compressed and cached by content', async () => {
    const index = await fetch(plane.url, { headers: { 'accept-encoding': 'br' } });
    expect(index.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(index.headers.get('content-security-policy')).not.toContain('unsafe');
    expect(index.headers.get('x-frame-options')).toBe('DENY');
    expect(index.headers.get('cache-control')).toBe('no-cache');
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(await index.text())?.[1] ?? '';
    const asset = await fetch(plane.url + script, { headers: { 'accept-encoding': 'gzip' } });
    expect(asset.headers.get('content-encoding')).toBe('gzip');
    expect(asset.headers.get('cache-control')).toContain('immutable');
    const again = await fetch(plane.url + script, {
      headers: { 'if-none-match': asset.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  });

  it('answers its pages and leaves other paths refused', async () => {
    const page = await fetch(`${plane.url}/deployments/web`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const missing = await fetch(`${plane.url}/api/v1/nothing`, { headers: { accept: 'text/html' } });
    expect(((await missing.json()) as { code: string }).code).toBe('route_not_found');
    const outside = await fetch(`${plane.url}/assets/..%2f..%2fpackage.json`);
    expect(outside.status).toBe(404);
  });

  it('refuses a wrong token at its field and takes a right one', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(plane.url);
    await page.getByLabel('Access token').waitFor();
    await page.keyboard.type('nonsense\n');
    await page.getByRole('alert').getByText('Tokens begin with berth_pat_').waitFor();
    await page.getByLabel('Access token').fill(`${shop.token.slice(0, -4)}0000`);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This token is not accepted').waitFor();
    await page.getByRole('alert').getByRole('link', { name: 'unauthenticated' }).waitFor();
    await signIn(page, plane.url, shop.token);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what is wrong first', async () => {
    await deploy('lost', { placement: { constraints: { disk: 'nvme' } } });
    const page = await signedIn();
    await page.getByRole('region', { name: 'Needs attention' }).getByText('lost').waitFor();
  });

  it('leads through the first steps, each ticked off when it has happened, and offers a viewer none of them', async () => {
    const bank = await plane.tenant('bank');
    const made = await bank.call('POST', '/api/v1/tokens', { name: 'watcher', role: 'viewer' });
    const { page: watching } = await openPage(browser);
    await signIn(watching, plane.url, made.body.token as string);
    await watching
      .getByText('Your role may not: ask somebody who is tenant-admin or platform-admin')
      .waitFor();
    expect(await watching.getByRole('button', { name: 'Enrol a node' }).count()).toBe(0);
    await watching.close();
    const { page } = await openPage(browser);
    await signIn(page, plane.url, bank.token);
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('0 of 3 done').waitFor();
    expect(await page.getByText('Nothing needs attention').count()).toBe(0);
    await page.locator('#navigation [data-live=live]').waitFor();
    await steps.getByRole('button', { name: 'Enrol a node' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make the line' }).waitFor();
    await page.keyboard.press('Escape');
    await obligingAgent(flow, 'vault-1', bank);
    await steps.getByText('1 of 3 done').waitFor();
    await bank.call('POST', '/api/v1/deployments', {
      name: 'ledger',
      image: 'localhost:1/bank/ledger:1.0.0',
    });
    await page.getByRole('region', { name: 'Everything is set up' }).getByText('3 of 3 done').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Nothing needs attention').waitFor();
  });

  it('shows a new deployment without being asked', async () => {
    const page = await signedIn();
    await page.getByRole('link', { name: 'Deployments' }).first().click();
    await page.locator('#navigation [data-live=live]').waitFor();
    await deploy('sudden', { replicas: 2 });
    await page.getByRole('link', { name: 'sudden' }).waitFor({ timeout: 5000 });
  });

  it('says when the connection is lost, comes back by itself, and misses nothing', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(plane.url).port) });
    try {
      const { page, context } = await openPage(browser);
      await signIn(page, `http://127.0.0.1:${proxy.port}`, shop.token);
      await page.getByRole('link', { name: 'Deployments' }).first().click();
      await page.locator('#navigation [data-live=live]').waitFor();
      proxy.refuse(true);
      await page.locator('#navigation [data-live=reconnecting]').waitFor();
      await page.getByText('The connection to the control plane is lost').waitFor();
      await deploy('meanwhile');
      proxy.refuse(false);
      await page.locator('#navigation [data-live=live]').waitFor();
      await page.getByRole('link', { name: 'meanwhile' }).waitFor();
      // Nothing is closed, and nothing comes any more: sooner than a stream that is silent is given up (40 s).
      proxy.holdAnswers(true);
      await page.locator('#navigation [data-live=reconnecting]').waitFor({ timeout: 15_000 });
      proxy.holdAnswers(false);
      await page.locator('#navigation [data-live=live]').waitFor();
      await context.close();
    } finally {
      await proxy.close();
    }
  });
});
