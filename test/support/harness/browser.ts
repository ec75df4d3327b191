import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Lan } from './lan.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The same engine as in Chromium without the windows and toolbars around it, which took as much processor time as the pages. */
const PROGRAM = '/usr/bin/chromium-headless-shell';

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: FLAGS });
}

export interface OutsideHost {
  readonly host: string;
  /** Where it is. */
  readonly address: string;
  /** The one key that it trusts. */
  readonly pin: string;
}

/** On a machine beside the nodes; `folder` is a temporary one of the test. */
export function browserOutside(
  lan: Lan,
  folder: string,
  { host, address, pin }: OutsideHost,
): Promise<Browser> {
  const program = join(folder, 'browser');
  const [command, args] = lan.outside([PROGRAM]);
  writeFileSync(program, `#!/bin/sh\nexec ${[command, ...args].join(' ')} "$@"\n`, { mode: 0o755 });
  const trust = [
    `--host-resolver-rules=MAP ${host} ${address}`,
    `--ignore-certificate-errors-spki-list=${pin}`,
  ];
  return chromium.launch({ executablePath: program, args: [...FLAGS, ...trust] });
}

/** A page, with everything it complained about. */
export interface WatchedPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Violations of the content security policy, uncaught errors, and errors of the console. */
  readonly complaints: readonly string[];
  /** Hosts that were asked for anything. */
  readonly hosts: ReadonlySet<string>;
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
}

/** The browser reports answers such as 404 itself; those are for the test to look at. */
const REPORTED_ANSWER = /^Failed to load resource/;

export function newContext(browser: Browser, options: PageOptions = {}): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.theme ?? 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
}

export async function watchPage(context: BrowserContext): Promise<WatchedPage> {
  const page = await context.newPage();
  const complaints: string[] = [];
  const hosts = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' && !REPORTED_ANSWER.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      console.error('policy: ' + violatedDirective + ' ' + blockedURI + ' ' + sample));`,
  });
  return { context, page, complaints, hosts };
}

/** In a browser profile of its own. */
export async function openPage(browser: Browser, options: PageOptions = {}): Promise<WatchedPage> {
  return watchPage(await newContext(browser, options));
}

async function violationsOf(page: Page, tags?: readonly string[]) {
  // Without frames there is nothing to gather in a page of its own, which would cost as much as the looking.
  // A finding is told by its text: selectors of every element that is looked at took up to a third of the time. No rule reads style sheets.
  const axe = new AxeBuilder({ page })
    .setLegacyMode()
    .options({ resultTypes: ['violations'], selectors: false, preload: false });
  return (await (tags === undefined ? axe : axe.withTags([...tags])).analyze()).violations;
}

type Violation = Awaited<ReturnType<typeof violationsOf>>[number];

function violationText(path: string, { id, nodes }: Violation): string {
  return `${path} ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`;
}

/** All findings of accessibility, the slight ones and those of good practice too. */
export async function findings(page: Page, path: string): Promise<readonly string[]> {
  return (await violationsOf(page)).map((violation) => violationText(path, violation));
}

/** Serious findings of accessibility, by all rules or those with these tags. */
export async function seriousFindings(
  page: Page,
  path: string,
  tags?: readonly string[],
): Promise<readonly string[]> {
  return (await violationsOf(page, tags))
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map((violation) => violationText(path, violation));
}

export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#navigation').waitFor({ state: 'attached' });
}

/**
 * Whether anything of the page is cut off at its right or has to be scrolled to sideways: the content scrolls in an element of its own. Looked at when
 * the page has been drawn: parts that follow its width do so with the next frame.
 */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(`new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(() => seen(
    [document.documentElement, document.querySelector('#content')].some((at) => at !== null && at.scrollWidth > at.clientWidth)))))`);
}

/** What the dashboard's own files took, as they came over the network; nothing of it is cached from now on. */
export async function countOwnBytes(page: Page): Promise<() => number> {
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  await client.send('Network.setCacheDisabled', { cacheDisabled: true });
  const ours = new Set<string>();
  let bytes = 0;
  client.on('Network.responseReceived', ({ requestId, response }) => {
    const { pathname } = new URL(response.url);
    if (pathname === '/' || pathname.startsWith('/assets/')) ours.add(requestId);
  });
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (ours.has(requestId)) bytes += encodedDataLength;
  });
  return () => bytes;
}
