import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import { openPage, type PageOptions, signIn, startBrowser, type WatchedPage, watchPage } from './browser.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { agentKey } from '../agents/scripted-agent.ts';
import { nodeFacts, NodeFlow } from './node-flow.ts';
import { ObligingAgent, obligingAgent, type ObligingOptions } from '../agents/obliging-agent.ts';

type Tenant = Awaited<ReturnType<ControlPlane['tenant']>>;

/** A control plane with a tenant, agents that oblige, and a browser. */
export interface DashboardStage {
  readonly plane: ControlPlane;
  readonly shop: Tenant;
  readonly browser: Browser;
  agent(name: string, options?: ObligingOptions): Promise<ObligingAgent>;
  /** A machine on which the line of an enrolment was pasted. */
  arrive(token: string, name: string): Promise<ObligingAgent>;
  deploy(name: string, more?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Signed in as the tenant's administrator, at this path; with options in a profile of its own, else in one that is kept. */
  open(path?: string, options?: PageOptions): Promise<WatchedPage>;
  /** After a case: pages that stay open go on drawing what comes, at the cost of the cases after it. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

/** A registry that refuses at once: stored with a warning, without the network. */
export const IMAGE = 'localhost:1/shop/web:1.0.0';

export async function dashboardStage(
  environment: Readonly<Record<string, string>> = {},
): Promise<DashboardStage> {
  const plane = await startControlPlane([], {
    BERTH_TIMERS_SETTLE: '100ms',
    BERTH_TIMERS_USAGE: '1s',
    ...environment,
  });
  const shop = await plane.tenant('shop');
  const flow = new NodeFlow(plane);
  const browser = await startBrowser();
  let signedIn: BrowserContext | undefined;
  return {
    plane,
    shop,
    browser,
    agent: (name, options = {}) => obligingAgent(flow, name, shop, options),
    arrive: async (token, name) => {
      const key = agentKey();
      const { body } = await plane.as(token)('POST', '/api/v1/nodes', nodeFacts(name, key));
      const agent = flow.dial({ url: plane.url, node: name, token: body.nodeToken as string, key });
      await agent.welcome();
      return new ObligingAgent(agent, {});
    },
    deploy: async (name, more = {}) => {
      const create = (): ReturnType<typeof shop.call> =>
        shop.call('POST', '/api/v1/deployments', { name, image: IMAGE, ...more });
      const first = await create();
      // Of a case that is tried again.
      if (first.status === 409) await shop.call('DELETE', `/api/v1/deployments/${name}`);
      const { status, body } =
        first.status === 409
          ? await eventually('the name is free', create, (made) => made.status !== 409)
          : first;
      expect(body.code).toBeUndefined();
      expect(status).toBe(201);
    },
    open: async (path = '/', options) => {
      if (options === undefined && signedIn !== undefined) {
        // A browser opens few connections to one host, and each page holds one for its events.
        await Promise.all(signedIn.pages().map((page) => page.close()));
        const watched = await watchPage(signedIn);
        await watched.page.goto(plane.url + path);
        return watched;
      }
      const watched = await openPage(browser, options);
      await signIn(watched.page, plane.url, shop.token);
      if (options === undefined) signedIn = watched.context;
      if (path !== '/') await watched.page.goto(plane.url + path);
      return watched;
    },
    rest: async () => {
      await Promise.all((signedIn?.pages() ?? []).map((page) => page.close()));
      await Promise.all(
        browser
          .contexts()
          .filter((context) => context !== signedIn)
          .map((context) => context.close()),
      );
    },
    close: async () => {
      await browser.close();
      flow.close();
      await plane.close();
    },
  };
}

export async function phaseOf(page: Page, phase: string): Promise<void> {
  await page.getByRole('main').getByText(phase, { exact: true }).first().waitFor();
}
