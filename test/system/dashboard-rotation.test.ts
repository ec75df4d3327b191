import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isOfDeployment } from '../../src/core/model/owner.ts';
import type { Verdict } from '../support/agents/obliging-agent.ts';
import { eventually } from '../support/eventually.ts';
import { openPage, signIn } from '../support/harness/browser.ts';
import { type DashboardStage, dashboardStage, IMAGE } from '../support/harness/dashboard-stage.ts';

let stage: DashboardStage;
/** How the job of a hook ends. */
let hookExit = 0;

beforeAll(async () => {
  stage = await dashboardStage();
  await stage.agent('berlin-1', { judge });
  await stage.agent('paris-1', { judge });
});
afterEach(() => stage.rest());
afterAll(() => stage.close());

const judge: Verdict = ({ deployment }) => {
  if (isOfDeployment(deployment)) return undefined;
  return { phase: 'exited', exitCode: hookExit, ...(hookExit !== 0 && { reason: 'exit_code' }) };
};

/** The rollout of a phase is complete: the container that was replaced is gone, too. */
async function rolledOut(name: string): Promise<void> {
  const { body } = await stage.shop.call('GET', `/api/v1/deployments/${name}`);
  const { secretsVersion } = body.status as { readonly secretsVersion: number };
  await eventually(
    () => stage.shop.call('GET', `/api/v1/deployments/${name}/instances`),
    ({ body: instances }) =>
      instances.length === 1 &&
      instances[0].state === 'running' &&
      instances[0].secretsVersion === secretsVersion,
    20_000,
  );
}

/** Presses the button of a phase, and the one that confirms it. */
async function take(page: Page, phase: 'Stage' | 'Promote' | 'Retire' | 'Abort'): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`^${phase} the`) }).click();
  await page.getByRole('dialog').getByRole('button', { name: phase, exact: true }).click();
}

describe('a rotation in the dashboard', () => {
  it('shows which credentials are valid in each phase of a rotation', async () => {
    await stage.deploy('api', {
      secrets: [
        { name: 'DB', vault_path: 'resources/db', anchor: 'process', generate: { keys: ['password'] } },
      ],
    });
    const { page } = await stage.open('/deployments/api?tab=secrets');
    for (const [button, phase] of [
      ['Stage', 'stage'],
      ['Promote', 'promote'],
      ['Retire', 'retire'],
    ] as const) {
      await page.getByText('Every instance runs with the credentials of this phase.').waitFor();
      await take(page, button);
      await page.locator(`[data-phase=${phase}][aria-current=step]`).waitFor();
    }
    const retired = page.locator('[data-phase=retire]');
    expect(await retired.innerText()).toContain('DB_key');
    expect(await page.locator('[data-phase=stage]').innerText()).toContain('DB_key_NEXT');
    await page.getByText('Secrets version 3').waitFor();

    await rolledOut('api');
    expect(await page.getByRole('button', { name: 'Abort the rotation' }).count()).toBe(0);
    await take(page, 'Stage');
    await page.locator('[data-phase=stage][aria-current=step]').waitFor();
    await rolledOut('api');
    await take(page, 'Abort');
    await page.locator('[data-phase=steady][aria-current=step]').waitFor();
    const { body } = await stage.shop.call('GET', '/api/v1/deployments/api');
    expect(body.status.rotation).toEqual({ phase: 'abort', next: 'stage' });
  });

  it('is taken along when a whole credential is rotated, whose hook fails and is run again', async () => {
    const entry = { name: 'DB', vault_path: 'resources/shared' };
    const call = async (method: string, path: string, body: unknown) =>
      expect((await stage.shop.call(method, path, body)).body.code).toBeUndefined();
    await call('PUT', '/api/v1/secrets/resources/shared', { generate: { keys: ['password'] } });
    await call('POST', '/api/v1/jobs', {
      name: 'db-apply',
      image: IMAGE,
      schedule: '0 3 1 1 *',
      secrets: [entry],
    });
    await call('PUT', '/api/v1/secrets/resources/shared/hooks', { apply: 'db-apply' });
    const names = ['left', 'right'];
    for (const name of names) await stage.deploy(name, { secrets: [{ ...entry, anchor: 'external' }] });
    const complete = () => Promise.all(names.map(rolledOut));
    await complete();
    const { page, complaints } = await stage.open('/secrets/resources/shared');
    const consumers = page.getByRole('list', { name: 'Consumers' });
    const hook = page.locator('[data-hook=apply]');
    await page.getByText('No rotation is under way.').waitFor();
    await hook.getByText('not asked for in this rotation').waitFor();

    await take(page, 'Stage');
    await page.locator('[data-phase=stage][aria-current=step]').waitFor();
    await consumers.getByText('staged', { exact: true }).nth(1).waitFor();
    await complete();
    hookExit = 3;
    await take(page, 'Promote');
    await hook.getByText('Failed', { exact: true }).waitFor();
    await take(page, 'Promote');
    const refusal = page.getByRole('dialog').locator('[data-code=rotation_hook_failed]');
    await refusal.getByText(/of the job db-apply failed/).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    const made = await stage.shop.call('POST', '/api/v1/tokens', { name: 'reader', role: 'viewer' });
    const viewer = await openPage(stage.browser);
    await signIn(viewer.page, stage.plane.url, made.body.token as string);
    await viewer.page.goto(`${stage.plane.url}/secrets/resources/shared`);
    await viewer.page.locator('[data-hook=apply]').getByText('Failed', { exact: true }).waitFor();
    await viewer.page.getByRole('list', { name: 'Consumers' }).getByText('staged').nth(1).waitFor();
    expect(await viewer.page.getByRole('main').getByRole('button').count()).toBe(0);
    await viewer.context.close();

    hookExit = 0;
    await hook.getByRole('button', { name: 'Run db-apply again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await hook.getByText('Succeeded', { exact: true }).waitFor();
    await take(page, 'Promote');
    await page.locator('[data-phase=promote][aria-current=step]').waitFor();
    await consumers.getByText('promoted', { exact: true }).nth(1).waitFor();

    await complete();
    await take(page, 'Abort');
    await hook.getByText(/^on the way back/).waitFor();
    await hook.getByText('Succeeded', { exact: true }).waitFor();
    await take(page, 'Abort');
    await page.locator('[data-phase=steady][aria-current=step]').waitFor();
    await consumers.getByText('takes no part').nth(1).waitFor();
    const { body } = await stage.shop.call('GET', '/api/v1/secrets/resources/shared');
    expect(body.rotation).toBeUndefined();
    expect(complaints).toEqual([]);
  });
});
