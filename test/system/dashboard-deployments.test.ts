import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { isTooWide, seriousFindings } from '../support/harness/browser.ts';
import { type DashboardStage, dashboardStage, IMAGE, phaseOf } from '../support/harness/dashboard-stage.ts';
import type { ReportedFailure } from '../../src/core/protocol/agent-messages.ts';
import type { ObligingAgent } from '../support/agents/obliging-agent.ts';

let stage: DashboardStage;
let berlin: ObligingAgent;
let failures: readonly ReportedFailure[] = [];
/** The container of `crashed`, until it is started again. */
let isDown = false;
/** Run as a script, it would leave a mark; shown as text, it stays what it is. */
const SCRIPT = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';

beforeAll(async () => {
  stage = await dashboardStage();
  berlin = await stage.agent('berlin-1', {
    labels: { 'berth.io/country': 'DE', disk: 'ssd' },
    logLines: ['listening on :8080'],
    said: { features: ['confinement', 'instances'] },
    reports: () => ({ failures }),
    // As agents do: how a run failed comes with the report that it has.
    judge: ({ deployment }) =>
      deployment === 'crashed' && isDown ? { phase: 'failed', reason: 'out_of_memory' } : undefined,
  });
  await stage.agent('paris-1', { labels: { 'berth.io/country': 'FR', disk: 'hdd' } });
});
afterEach(() => stage.rest());
afterAll(() => stage.close());

const MOST_TABS = 150;

/** Goes on with Tab until something of that name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const seen: string[] = [];
  for (let pressed = 0; pressed < MOST_TABS; pressed += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(`(() => {
      const { activeElement: at } = document;
      const label = at?.getAttribute('aria-label') ?? at?.labels?.[0]?.textContent ?? at?.textContent ?? '';
      return label.trim();
    })()`);
    if (focused === name) return;
    seen.push(focused.slice(0, 40));
  }
  throw new Error(`nothing called ${name} has had the focus; others had: ${seen.join(' | ')}`);
}

async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

async function enter(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, label);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
}

/** From the chosen tab to this one. */
async function tab(page: Page, from: string, to: string): Promise<void> {
  await tabTo(page, from);
  while ((await page.evaluate<string>('document.activeElement.textContent')) !== to)
    await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: to, selected: true }).waitFor();
}

describe('a deployment in the dashboard', () => {
  it('is created, corrected, read, changed and rolled back without a pointer', async () => {
    const { page, complaints } = await stage.open('/');
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'Deployments' }).waitFor();
    await press(page, 'New deployment');
    await enter(page, 'Name', 'Keys_Web');
    await enter(page, 'Image', IMAGE);
    await press(page, 'Check');
    await page.locator('[data-field=name] [data-code=deployment_name_invalid]').waitFor();
    await enter(page, 'Name', 'keys-web');
    await press(page, 'Check');
    await page.locator('[data-plan]').waitFor();
    await press(page, 'Create');
    await page.getByRole('heading', { name: 'keys-web' }).waitFor();
    await phaseOf(page, 'Running');
    await tab(page, 'Instances', 'Logs');
    await page.getByRole('log').getByText('listening on :8080').first().waitFor();
    await press(page, 'Edit');
    await enter(page, 'Replicas', '2');
    await press(page, 'Check');
    await page.locator('[data-plan]').waitFor();
    await press(page, 'Save');
    await page.getByText('2 instances on 2 nodes').waitFor();
    await tab(page, 'Instances', 'Configuration');
    await press(page, 'Roll back to v1');
    await press(page, 'Show what would change');
    await press(page, 'Roll back');
    await page.getByRole('region', { name: 'History' }).getByText('rolled-back').waitFor();
    const { body } = await stage.shop.call('GET', '/api/v1/deployments/keys-web');
    expect(body['replicas']).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('is refused at its field, corrected, planned, created and runs', async () => {
    const { page, complaints } = await stage.open('/deployments/new');
    await page.getByLabel('Name', { exact: true }).fill('Shop_Web');
    await page.getByLabel('Image').fill('shop/web:latest');
    await page.getByRole('button', { name: 'Check' }).click();
    const name = page.locator('[data-field=name]');
    await name.locator('[data-code=deployment_name_invalid]').waitFor();
    // All that is wrong, each at its field.
    await page.locator('[data-field=image] [data-code=image_required]').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    expect(await name.getByRole('link').getAttribute('href')).toContain(
      '/docs/errors/deployment_name_invalid',
    );
    expect(await page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);

    await page.getByLabel('Name', { exact: true }).fill('shop-web');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('[data-field=image] [data-code=image_required]').waitFor();
    await page.getByLabel('Image').fill(IMAGE);

    await page.getByText('Command and environment').click();
    await page.getByRole('button', { name: 'Add to environment' }).click();
    await page.getByLabel('Name', { exact: true }).nth(1).fill('DB_PASSWORD');
    await page.getByLabel('Value of DB_PASSWORD').fill('correct-horse-battery');
    await page.getByRole('button', { name: 'Check' }).click();
    await page
      .locator('[data-field="environment.DB_PASSWORD"] [data-code=plaintext_credential_in_environment]')
      .waitFor();
    await page.getByRole('button', { name: 'Remove DB_PASSWORD' }).click();
    await page.getByRole('button', { name: 'Add to environment' }).click();
    await page.getByLabel('Name', { exact: true }).nth(1).fill('MOTD');
    await page.getByLabel('Value of MOTD').fill('first line\nsecond line');

    await page.getByRole('button', { name: 'Check' }).click();
    const placement = page.locator('[data-plan]').getByRole('region', { name: 'Placement' });
    await placement.getByText(/runs no instance of shop-web yet/).waitFor();
    expect((await stage.shop.call('GET', '/api/v1/deployments/shop-web')).status).toBe(404);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'shop-web' }).waitFor();
    await phaseOf(page, 'Running');
    const { body: made } = await stage.shop.call('GET', '/api/v1/deployments/shop-web');
    expect(made['environment']).toEqual({ MOTD: 'first line\nsecond line' });
    await page.getByRole('link', { name: 'Edit' }).click();
    expect(await page.getByLabel('Value of MOTD').inputValue()).toBe('first line\nsecond line');
    expect(complaints).toEqual([]);
  });

  it('is written in YAML, and the line that is refused is marked', async () => {
    const { page } = await stage.open('/deployments/new');
    await page.getByRole('button', { name: 'YAML' }).click();
    const text = page.getByLabel('Description as YAML');
    await text.fill('name: yaml-web\nimage: [');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText(/^Line 2/).waitFor();
    await text.fill(
      `name: yaml-web\nimage: ${IMAGE}\nhealthCheck:\n  type: exec\n  command: [a, b]\n  timeout: 1s\n`,
    );
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('healthCheck.timeout, line 6').waitFor();
    await page.locator('[data-code=healthcheck_timeout_below_floor]').waitFor();
    await page.getByRole('button', { name: 'Form' }).click();
    expect(await page.getByLabel('Timeout').inputValue()).toBe('1s');
    await page.getByLabel('Timeout').fill('10s');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'yaml-web' }).waitFor();
  });

  it('gives rights up by fields of the form, and takes them back', async () => {
    const { page, complaints } = await stage.open('/deployments/new');
    await page.getByLabel('Name', { exact: true }).fill('confined');
    await page.getByLabel('Image').fill(IMAGE);
    await page.getByText('Rights in the container').click();
    await page.getByLabel('User').fill('1000:1000');
    await page.getByLabel('Root file system').selectOption('Read only');
    await page.getByLabel('Capabilities given up').fill('CHOWN, NET_EVERYTHING');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('[data-field="capabilities.drop"] [data-code=capability_unknown]').waitFor();
    await page.getByLabel('Capabilities given up').fill('CHOWN, KILL');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'confined' }).waitFor();
    await phaseOf(page, 'Running');
    const read = async () => (await stage.shop.call('GET', '/api/v1/deployments/confined')).body;
    const drop = ['CHOWN', 'KILL'];
    expect(await read()).toMatchObject({
      user: '1000:1000',
      readOnlyRootFilesystem: true,
      capabilities: { drop },
    });

    await page.goto(`${stage.plane.url}/deployments/confined/edit`);
    expect(await page.getByLabel('User').inputValue()).toBe('1000:1000');
    await page.getByLabel('Root file system').selectOption('Read and write');
    await page.getByLabel('User').fill('');
    await page.getByRole('button', { name: 'Check' }).click();
    for (const field of ['user', 'readOnlyRootFilesystem'])
      await page.getByRole('checkbox', { name: new RegExp(field) }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'confined', exact: true }).waitFor();
    const { user, readOnlyRootFilesystem, capabilities } = await read();
    expect([user, readOnlyRootFilesystem, capabilities]).toEqual([undefined, undefined, { drop }]);
    expect(complaints).toEqual([]);
  });

  it('loses nothing without being asked, and is rolled back', async () => {
    await stage.deploy('edited', { environment: { A: '1', B: '2' }, labels: { team: 'shop' } });
    const { page } = await stage.open('/deployments/edited');
    await phaseOf(page, 'Running');
    await page.goto(`${stage.plane.url}/deployments/edited/edit`);
    await page.getByRole('button', { name: 'Remove B' }).click();
    await page.getByRole('button', { name: 'Check' }).click();
    const save = page.getByRole('button', { name: 'Save' });
    await page.getByRole('region', { name: 'Removed' }).getByText('environment[B]').waitFor();
    const becomes = page.locator('[data-plan]').getByRole('region', { name: 'Instances' });
    await becomes.getByText('1 replaced').waitFor();
    await becomes.getByText('environment.B changed').waitFor();
    expect(await save.isDisabled()).toBe(true);
    await page.getByRole('checkbox', { name: /environment\[B\]/ }).check();
    await save.click();
    await page.getByRole('tab', { name: 'Configuration' }).click();
    const history = page.getByRole('region', { name: 'History' });
    await history.getByText('environment.B').waitFor();
    const stored = await stage.shop.call('GET', '/api/v1/deployments/edited');
    expect(stored.body).toMatchObject({ environment: { A: '1' }, labels: { team: 'shop' } });

    await history.getByRole('button', { name: 'Roll back to v1' }).click();
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('dialog').getByText('environment.B', { exact: true }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await history.getByText('rolled-back').waitFor();
    const back = await stage.shop.call('GET', '/api/v1/deployments/edited');
    expect(back.body.environment).toEqual({ A: '1', B: '2' });
  });

  it('tells that somebody else changed it meanwhile, and keeps what was entered until one means to leave', async () => {
    await stage.deploy('raced');
    const { page } = await stage.open('/deployments/raced/edit');
    await page.getByLabel('Replicas').fill('2');
    await stage.shop.call('PUT', '/api/v1/deployments/raced', { labels: { a: 'b' } });
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('alert').getByText('revision_mismatch').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByLabel('Replicas').inputValue()).toBe('2');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('is scaled, watched and followed', async () => {
    await stage.deploy('scaled');
    const { page } = await stage.open('/deployments/scaled');
    await phaseOf(page, 'Running');
    await page.getByRole('button', { name: 'Scale' }).click();
    await page.getByLabel('Replicas').fill('-1');
    await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click();
    await page.locator('[data-code=replicas_negative]').waitFor();
    await page.getByLabel('Replicas').fill('3');
    await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click();
    await page.getByText('3 instances on 2 nodes').waitFor();
    await page.getByText(/% CPU/).first().waitFor();
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('img', { name: /^CPU: CPU last \d/ }).waitFor();
    await history
      .getByRole('img', { name: /^Instances over time: Wanted last \d, Running last \d/ })
      .waitFor();
    // The agent says nothing of its network: no line, and no zeros.
    await history.getByText('Nothing has been measured in this time.').waitFor();
    await history.getByRole('button', { name: 'Day' }).click();
    await history.getByRole('img', { name: /^Memory: Memory last .*iB/ }).waitFor();
    await page.getByRole('tab', { name: 'Logs' }).click();
    const log = page.getByRole('log');
    await log.getByText('listening on :8080').first().waitFor();
    const first = berlin.print('\u001b[31mGET /cart 200\u001b[0m');
    await log
      .getByText('GET /cart 200', { exact: true })
      .nth(first - 1)
      .waitFor();
    // Found in it, place by place, and held while it is read: one that comes later would not be the place that is shown.
    const last = berlin.print('GET /cart 500');
    await log
      .getByText('GET /cart 500')
      .nth(last - 1)
      .waitFor();
    await page.getByLabel('Find in the log').fill('CART');
    const found = page.getByRole('status').filter({ hasText: /^\d+ of \d+$/ });
    const places = Number((await found.innerText()).split(' of ')[1]);
    expect(places).toBeGreaterThan(1);
    expect(await found.innerText()).toBe(`${places} of ${places}`);
    await page.getByLabel('Find in the log').press('Enter');
    await page.getByText(`${places - 1} of ${places}`).waitFor();
    await page.getByRole('button', { name: 'Later place' }).click();
    await page.getByRole('button', { name: 'Only these lines' }).click();
    await log.getByText('listening on :8080').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Pause' }).click();
    berlin.print('GET /cart 404');
    await page.getByText(/^Paused, \d new$/).waitFor();
    expect(await log.getByText('404').count()).toBe(0);
    await page.getByRole('button', { name: 'Follow' }).click();
    await log.getByText('404').first().waitFor();
    await page.getByLabel('Find in the log').fill('');
    await page.getByRole('button', { name: 'Times' }).click();
    await log.getByRole('time').first().waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('scaled.log');
    expect(readFileSync(await file.path(), 'utf8')).toMatch(/^\d{4}-\S+Z ins_\w+ \| listening on :8080$/m);
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByText('deployment.created').first().waitFor();
  });

  it('says how its instances failed, with what they printed last, as text', async () => {
    await stage.deploy('crashed', { nodeId: 'berlin-1' });
    const { page, complaints } = await stage.open('/deployments/crashed');
    await phaseOf(page, 'Running');
    expect(await page.getByRole('region', { name: 'Failures' }).count()).toBe(0);
    const [one] = berlin.assigned.filter(({ deployment }) => deployment === 'crashed');
    if (one === undefined) throw new Error('it is not placed');
    const told = { instanceId: one.id as ReportedFailure['instanceId'], exitCode: 137, ranMs: 4200 };
    failures = [
      { ...told, key: `${one.id}-1`, reason: 'container_exited', message: 'the first time', lines: [] },
      {
        ...told,
        key: `${one.id}-2`,
        reason: 'out_of_memory',
        message: `exit code 137 (SIGKILL): ${SCRIPT}`,
        lines: [{ text: 'reading the index' }, { text: `\u001b[31m${SCRIPT}\u001b[0m` }],
        health: 'connection refused',
      },
    ];
    isDown = true;
    berlin.report();
    const panel = page.getByRole('region', { name: 'Failures' });
    await panel.getByText('out of memory').waitFor();
    isDown = false;
    berlin.report();
    await phaseOf(page, 'Running');
    await panel.getByText(`exit code 137 (SIGKILL): ${SCRIPT}`).waitFor();
    await panel.getByText('exit 137 after 4.2 s').first().waitFor();
    await panel.getByRole('button', { name: 'Show 2 lines' }).click();
    const output = panel.getByRole('log');
    await output.waitFor();
    expect(await output.innerText()).toBe(
      `reading the index\n${SCRIPT}\n(health check) connection refused\n`,
    );
    await panel.getByText(`berth logs crashed --previous --instance ${one.id}`).waitFor();
    expect(await panel.getByRole('listitem').count()).toBe(2);
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(await seriousFindings(page, 'failures')).toEqual([]);

    // One of them, seen closely.
    await page.getByRole('region', { name: 'Instances' }).getByText(one.id.slice(-8)).click();
    await page.getByRole('heading', { name: `crashed-${one.id.slice(-8)}` }).waitFor();
    await page.getByRole('region', { name: 'What it received' }).getByText(IMAGE).waitFor();
    const events = page.getByRole('region', { name: 'Events' }).getByRole('listitem');
    await events.filter({ hasText: 'instance.failed' }).waitFor();
    await events.filter({ hasText: 'instance.started' }).first().waitFor();
    expect(await events.first().innerText()).toContain('instance.created');
    await page.getByRole('tab', { name: 'Failures' }).click();
    await panel.getByText(`exit code 137 (SIGKILL): ${SCRIPT}`).waitFor();
    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByRole('log').getByText('listening on :8080').waitFor();
    // What it printed before it failed last, where its log is.
    await page.getByLabel('Instance', { exact: true }).selectOption(`failed:${one.id}`);
    await page.getByRole('log').getByText('reading the index').waitFor();
    await page.getByText('All that was kept').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await isTooWide(page)).toBe(false);
    expect(await seriousFindings(page, 'instance')).toEqual([]);
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  it('takes orders to one of its instances', async () => {
    await stage.deploy('ordered', { nodeId: 'berlin-1' });
    const { page, complaints } = await stage.open('/deployments/ordered');
    await phaseOf(page, 'Running');
    await page
      .getByRole('region', { name: 'Instances' })
      .getByRole('link', { name: /^ordered/ })
      .click();
    await page.getByRole('button', { name: 'Signal' }).click();
    await page.getByLabel('Signal', { exact: true }).selectOption('SIGUSR1');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('SIGUSR1 was sent; if its container ends, it is started again').waitFor();
    await page.getByRole('button', { name: 'Restart' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await page.getByText(/its container is replaced on berlin-1/).waitFor();
    await page.getByRole('region', { name: 'Container' }).getByText('2 of this instance').waitFor();
    const events = page.getByRole('region', { name: 'Events' });
    for (const kind of ['instance.signalled', 'instance.restart_requested'])
      await events.getByText(kind, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.locator('[data-code=instance_not_found]').waitFor();
    expect(complaints).toEqual([]);
  });

  it('has a canary beside it, which is promoted, and a policy by which it scales', async () => {
    await stage.deploy('compared', { replicas: 2 });
    const { page } = await stage.open('/deployments/compared?tab=rollout');
    await phaseOf(page, 'Running');
    await page.getByLabel('Image').fill('shop/web:latest');
    await page.getByRole('button', { name: 'Start canary' }).click();
    await page.locator('[data-field=image] [data-code]').waitFor();
    await page.getByLabel('Image').fill('localhost:1/shop/web:2.0.0');
    await page.getByRole('button', { name: 'Start canary' }).click();
    // Side by side, with what promoting would change.
    const canary = page.getByRole('region', { name: 'Canary', exact: true });
    await canary.getByText('1 of 1', { exact: true }).waitFor();
    await canary.getByText(/% CPU, .* each/).waitFor();
    await page.getByRole('region', { name: 'Stable' }).getByText('2 of 2', { exact: true }).waitFor();
    const difference = page.getByRole('region', { name: 'Difference' });
    await difference.getByText('localhost:1/shop/web:2.0.0').waitFor();
    expect(await difference.getByRole('listitem').count()).toBe(1);
    expect(await seriousFindings(page, 'canary')).toEqual([]);
    await page.getByRole('link', { name: 'Deployments' }).first().click();
    const row = page.getByRole('row').filter({ hasText: 'compared' });
    await row.getByText('canary', { exact: true }).waitFor();
    await row.getByText(/% CPU/).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Promote' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
    await page.getByRole('button', { name: 'Start canary' }).waitFor();
    const stored = await stage.shop.call('GET', '/api/v1/deployments/compared');
    expect(stored.body.image).toBe('localhost:1/shop/web:2.0.0');

    await page.getByLabel('At most').fill('0');
    await page.getByRole('button', { name: 'Scale by load' }).click();
    await page.locator('[data-code=scaling_policy_invalid]').waitFor();
    await page.getByLabel('At most').fill('4');
    await page.getByRole('button', { name: 'Scale by load' }).click();
    await page.getByRole('button', { name: 'Remove policy' }).waitFor();
    const policy = await stage.shop.call('GET', '/api/v1/deployments/compared/scaling-policy');
    expect(policy.body).toMatchObject({ minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60 });
  });

  it('is deleted only by its name', async () => {
    await stage.deploy('doomed');
    const { page } = await stage.open('/deployments/doomed');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('doomed');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Deployments' }).waitFor();
    expect((await stage.shop.call('GET', '/api/v1/deployments/doomed')).status).toBe(404);
  });

  it('has its placement explained, node by node and filter by filter', async () => {
    await stage.deploy('ledger', {
      placement: { residency: { country: 'DE' }, constraints: { disk: 'hdd' } },
    });
    const { page } = await stage.open('/deployments/ledger/explain');
    const row = (node: string) => page.getByRole('row', { name: new RegExp(node) });
    await row('berlin-1').waitFor();
    expect(await page.getByRole('columnheader').count()).toBeGreaterThan(12);
    expect(await row('paris-1').innerText()).toMatch(/refuses\s+needs: DE\s+has: FR/);
    expect(await row('berlin-1').innerText()).toMatch(/needs: disk=hdd\s+has: disk=ssd/);
    expect(await row('berlin-1').innerText()).toContain('does not fit');
  });
});
