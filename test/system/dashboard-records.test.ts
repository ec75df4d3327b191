import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LONG_TIER } from '../support/fault-tier.ts';
import { openPage, isTooWide, seriousFindings, signIn } from '../support/harness/browser.ts';
import { BOOTSTRAP } from '../support/harness/control-plane.ts';
import { type DashboardStage, dashboardStage, IMAGE } from '../support/harness/dashboard-stage.ts';
import type { TenantId } from '../../src/core/model/ids.ts';
import type { EventRecord } from '../../src/core/model/event.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { eventually } from '../support/eventually.ts';
import { direct, meshed, reaches, relayed } from '../support/agents/meshed.ts';
import { createVolume, MIB, volumeOnce } from '../support/agents/volume-agent.ts';

/** Run as a script, it would leave a mark; shown as text, it stays what it is. */
const SCRIPT = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
/** Pages that show it. */
const HOSTILE = new Set([
  '/nodes/berlin-1',
  '/networks?tab=named',
  '/jobs/report',
  '/jobs/broken',
  '/webhooks/alerts',
  '/tokens',
]);
/** Pages that together have every kind of part; looking at each for accessibility takes its time, and the long tier has it. */
const TELLING = new Set([
  '/nodes/berlin-1',
  '/topology',
  '/secrets',
  '/networks',
  '/jobs/report',
  '/webhooks/alerts',
  '/audit',
]);
const SECRET = 'correct-horse-battery-staple';

let stage: DashboardStage;
let volume = '';
/** Between berlin-1 and paris-1 only the relay is left. */
let cut = false;
const served = [
  {
    deployment: 'web',
    host: 'shop.example.com',
    state: 'serving',
    certificate: { issuer: 'Example CA', notAfter: '2126-11-16T00:00:00.000Z' },
  },
  { deployment: 'web', host: 'admin.example.com', state: 'failed', problem: `rate limited ${SCRIPT}` },
] as const;
let paths: readonly string[] = [];

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const answer = await stage.shop.call(method, path, body);
  expect(answer.body.code).toBeUndefined();
}

/** As if its receiver had refused an event often enough: straight into the store, since that takes a quarter of an hour. */
async function giveUp(webhook: string): Promise<void> {
  const tenant = stage.plane.store.forTenant(stage.shop.id as TenantId);
  const made = tenant.get('webhooks', webhook)?.record;
  if (made === undefined) throw new Error('there is no such webhook');
  const at = new Date().toISOString();
  const event: EventRecord = {
    id: 'evt_01',
    at,
    kind: 'node.failed',
    tenantId: tenant.tenantId,
    subject: { kind: 'Node', name: 'madrid-1' },
    message: SCRIPT,
    details: {},
  };
  const delivery = idOf('webhook-deliveries', webhook, made.id);
  const before = await eventually(
    () => tenant.get('webhook-deliveries', delivery),
    (stored) => stored !== undefined,
  );
  if (before === undefined) throw new Error('the webhook was never begun with');
  const transaction = tenant
    .transaction()
    .expect('webhook-deliveries', delivery, before)
    .put('webhook-deliveries', delivery, { ...before.record, deadLetters: 1, deadLetterBytes: 1536 });
  transaction.putCold('webhook-dead-letters', idOf('webhook-dead-letters', webhook, made.id, event.id), {
    event,
    deadAt: at,
    reason: 'HTTP 400',
    attempts: 8,
  });
  await stage.plane.store.commit(transaction);
}

beforeAll(async () => {
  stage = await dashboardStage({ BERTH_SESSIONS_IDLE: '1h' });
  const judge: Parameters<DashboardStage['agent']>[1] = {
    volumesFilled: 0.9,
    logLines: ['12 reports written', SCRIPT],
    judge: ({ deployment }) => {
      if (deployment === 'job.report') return { phase: 'exited', exitCode: 0 };
      return deployment === 'job.broken'
        ? { phase: 'exited', exitCode: 3, reason: 'exit_code', message: SCRIPT }
        : undefined;
    },
  };
  await stage.agent('berlin-1', {
    ...judge,
    labels: { 'berth.io/country': 'DE', rack: SCRIPT },
    reports: () => ({
      mesh: [cut ? relayed('paris-1') : direct('paris-1', '192.0.2.2:51820')],
      ingress: { routes: served },
    }),
    said: {
      hostPorts: ['443', '8000-8999'],
      problems: [SCRIPT],
      ingress: { caddy: '2.6.2', http: 80, https: 443 },
      ...meshed('192.0.2.1').said,
    },
  });
  await stage.agent('paris-1', {
    ...judge,
    labels: { 'berth.io/country': 'FR', disk: 'ssd' },
    ...reaches(() => direct('berlin-1', '192.0.2.1:51820')),
    said: meshed('192.0.2.2').said,
  });
  volume = await createVolume(stage.shop.call, 'pg-data', { replicas: 1, sizeBytes: 512 * MIB });
  const lonely = await createVolume(stage.shop.call, 'uploads', { sizeBytes: 256 * MIB });
  await Promise.all(
    [volume, lonely].map((id) => volumeOnce(stage.shop.call, id, ({ phase }) => phase === 'Ready')),
  );
  await stage.deploy('web', {
    replicas: 3,
    ingress: [
      { host: 'shop.example.com', port: 8080 },
      { host: 'admin.example.com', port: 8080 },
    ],
    labels: { note: SCRIPT },
    resources: { requests: { cpu: 0.5, memory: '512Mi' } },
    secrets: [
      { name: 'DB', vault_path: 'resources/db', anchor: 'process', generate: { keys: ['password'] } },
      { name: 'MAIL', vault_path: 'resources/mail', anchor: 'external' },
    ],
  });
  await stage.deploy('pg', {
    volumes: [{ volumeId: volume, mountPath: '/data' }],
    secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'process' }],
  });
  await accepted('POST', '/api/v1/jobs', {
    name: 'report',
    image: IMAGE,
    command: ['/bin/report', SCRIPT],
    schedule: '0 3 * * *',
    secrets: [{ name: 'DB', vault_path: 'resources/db' }],
  });
  await accepted('POST', '/api/v1/jobs', { name: 'broken', image: IMAGE, labels: { note: SCRIPT } });
  await accepted('POST', '/api/v1/jobs/report/run');
  await accepted('POST', '/api/v1/networks', {
    name: 'backend',
    nodeId: 'berlin-1',
    labels: { note: SCRIPT },
  });
  await accepted('POST', '/api/v1/backups', { deploymentName: 'web' });
  await accepted('POST', '/api/v1/tokens', { name: SCRIPT, role: 'viewer' });
  await eventually(
    () => stage.shop.call('GET', '/api/v1/jobs/broken'),
    ({ body }) => body.status.phase === 'Failed',
  );
  await accepted('PUT', '/api/v1/secrets/resources/hooks', { values: { key: SECRET } });
  await accepted('POST', '/api/v1/webhooks', {
    name: 'alerts',
    url: 'https://hooks.invalid/berth',
    signing: { vault_path: 'resources/hooks', key: 'key' },
    events: { kinds: ['nothing.at-all'] },
  });
  await giveUp('alerts');
  paths = [
    '/nodes',
    '/topology',
    '/nodes/berlin-1',
    '/nodes/berlin-1?tab=containers',
    '/nodes/berlin-1?tab=events',
    '/volumes',
    `/volumes/${volume}`,
    '/recommendations',
    '/secrets',
    '/secrets/resources/db',
    '/networks',
    '/networks?tab=names',
    '/networks?tab=ingress',
    '/networks?tab=named',
    '/jobs',
    '/jobs/report',
    '/jobs/broken',
    '/jobs/new',
    '/jobs/report/edit',
    '/webhooks',
    '/webhooks/alerts',
    '/backups',
    '/events',
    '/audit',
    '/tokens',
  ];
});
afterEach(() => stage.rest());
afterAll(() => stage.close());

/** Everything that was being read has come. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
}

async function platformAdmin(path: string): Promise<Page> {
  const { page } = await openPage(stage.browser);
  await signIn(page, stage.plane.url, BOOTSTRAP);
  await page.goto(stage.plane.url + path);
  return page;
}

/** In one visit: a page that fits here was drawn for both. */
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

const findings = (page: Page, path: string): Promise<readonly string[]> =>
  seriousFindings(page, path, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']);

describe('every page of a record', () => {
  it('shows scripts as text, breaks no policy, fits a narrow screen, and has no serious finding of accessibility', async () => {
    const { page, complaints, hosts } = await stage.open('/', WIDE);
    const wider: string[] = [];
    const found: string[] = [];
    for (const path of paths) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      if (HOSTILE.has(path)) await page.getByText(SCRIPT).first().waitFor({ state: 'attached' });
      if (LONG_TIER || TELLING.has(path)) found.push(...(await findings(page, path)));
      expect(await page.evaluate('window.hit')).toBeUndefined();
      await page.setViewportSize(NARROW);
      // What depends on the width is drawn anew.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      if (await isTooWide(page)) wider.push(path);
      await page.setViewportSize(WIDE);
    }
    expect(wider).toEqual([]);
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(stage.plane.url).host]);
  });

  it('is accessible on a narrow screen, in the dark', async () => {
    const { page, complaints } = await stage.open('/', { ...NARROW, theme: 'dark' });
    const found: string[] = [];
    for (const path of LONG_TIER ? ['/nodes', '/secrets', '/jobs/broken'] : ['/nodes']) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      // What the columns tell that have no room here.
      if (path === '/nodes')
        expect(await page.getByText(/^CPU \S+ of \d+ · memory .* · docker$/).count()).toBeGreaterThan(0);
      expect(await isTooWide(page)).toBe(false);
      found.push(...(await findings(page, path)));
    }
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('offers a viewer nothing that would be refused', async () => {
    const made = await stage.shop.call('POST', '/api/v1/tokens', { name: 'watcher', role: 'viewer' });
    const { page } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, made.body.token as string);
    for (const name of ['Audit', 'Tokens', 'Tenants'])
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0);
    for (const [path, words] of [
      ['/nodes', 'Enrol a node'],
      ['/volumes', 'New volume'],
      ['/secrets', 'Write a secret'],
      ['/secrets/resources/db', 'Stage the new credential'],
      ['/jobs/report', 'Run now'],
      ['/webhooks', 'New webhook'],
      ['/webhooks/alerts', 'Send again'],
      ['/webhooks/alerts', 'Pause'],
      ['/networks?tab=named', 'New network'],
      ['/backups', 'Take a backup'],
    ] as const) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      expect(await page.getByText(words).count()).toBe(0);
    }
    // Nor does an address that somebody sent.
    for (const path of ['/tokens?new=true', '/tenants?new=true', '/jobs/new', '/jobs/report/edit']) {
      await page.goto(stage.plane.url + path);
      await page.getByText('This page is not for your role').waitFor();
      expect(await page.getByRole('textbox').count()).toBe(0);
    }
  });
});

describe('nodes', () => {
  it('are enrolled with a line, and arrive live', async () => {
    const { page, complaints } = await stage.open('/nodes');
    await page.getByRole('button', { name: 'Enrol a node' }).click();
    await page.getByLabel('Name').fill('Not A Name');
    await page.getByRole('button', { name: 'Make the line' }).click();
    await page.locator('[data-code=node_name_invalid]').waitFor();
    await page.getByLabel('Name').fill('munich-1');
    await page.getByRole('button', { name: 'Make the line' }).click();
    const line = await page.getByLabel('Line to paste').innerText();
    expect(line).toContain(`berth agent --server ${stage.plane.url}`);
    expect(line).toContain('--name munich-1');
    await page.getByText('Waiting for munich-1 to arrive').waitFor();
    await stage.arrive(/berth_join_\S+/.exec(line)?.[0] ?? '', 'munich-1');
    await page.getByText('It arrived: munich-1 is enrolled').waitFor();
    await page.getByText(/munich-1 is ready: docker 20.10.24, 4 cores, 8 GiB/).waitFor();
    await page.getByRole('link', { name: 'Open munich-1' }).click();
    await page.getByRole('heading', { name: 'munich-1' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('are cordoned, drained with a report, and deleted when they are empty', async () => {
    const { page } = await stage.open('/nodes/munich-1');
    await page.getByRole('button', { name: 'Cordon' }).click();
    await page.getByText('cordoned').waitFor();
    await page.getByRole('button', { name: 'Uncordon' }).click();
    await page.getByRole('main').getByText('ready', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await page
      .getByRole('status')
      .getByText(/can move, 0 cannot/)
      .waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('draining').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('munich-1');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Nodes' }).waitFor();
    await page.getByRole('link', { name: 'munich-1' }).waitFor({ state: 'detached' });
  });

  it('name what cannot leave', async () => {
    await stage.deploy('pinned', { nodeId: 'paris-1' });
    const { page } = await stage.open('/nodes/berlin-1');
    await page.getByText('443, 8000-8999').waitFor();
    await page.getByText(SCRIPT).first().waitFor();
    await page.goto(`${stage.plane.url}/nodes/paris-1`);
    await page.getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    const stays = page.getByRole('listitem').filter({ hasText: 'stays' }).filter({ hasText: 'pinned' });
    await stays.first().waitFor();
    await stage.shop.call('POST', '/api/v1/nodes/paris-1/uncordon');
    await stage.shop.call('DELETE', '/api/v1/deployments/pinned');
  });
});

describe('the network', () => {
  it('shows nodes, paths as they change, names and addresses', async () => {
    const { page, complaints } = await stage.open('/networks');
    const nodes = page.getByRole('region', { name: 'Nodes', exact: true });
    await nodes
      .getByRole('row')
      .filter({ hasText: 'berlin-1' })
      .getByText(/10\.210\.\d\.0\/24/)
      .waitFor();
    const matrix = page.getByRole('region', { name: 'Paths between nodes' });
    const way = matrix.getByTitle(/^berlin-1 to paris-1: /);
    await way.getByText('direct').waitFor({ state: 'attached' });
    expect(await way.getAttribute('title')).toBe('berlin-1 to paris-1: direct at 192.0.2.2:51820, 1.2 ms');
    cut = true;
    await way.getByText('relayed').waitFor({ state: 'attached' });
    await page.getByText('From each node to each other: 1 direct, 1 relayed').waitFor();
    const details = page.getByRole('region', { name: 'Path details' });
    await details
      .getByText(/no address of paris-1 answers.*; let UDP 51820 and 51821 in at paris-1/)
      .waitFor();
    await page.getByRole('tab', { name: 'Names and addresses' }).click();
    const web = page.getByRole('row').filter({ hasText: 'web.berth.internal' });
    await web.getByText(/^10\.211\.0\.\d+$/).waitFor();
    await page.getByLabel('Find names').fill('nothing-of-this-name');
    await page.getByText('Nothing matches').waitFor();
    await page.getByRole('tab', { name: 'Ingress' }).click();
    const shop = page.getByRole('row').filter({ hasText: 'https://shop.example.com' });
    await shop.getByText('serving').waitFor();
    await shop.getByText(/^until 16 Nov 2126, .* by Example CA$/).waitFor();
    await page.getByRole('row').filter({ hasText: 'admin.example.com' }).getByText(SCRIPT).waitFor();
    expect(complaints).toEqual([]);
  });

  it('is empty before the first node', async () => {
    const made = await stage.plane.tenant('empty-1');
    const { page } = await openPage(stage.browser);
    await signIn(page, stage.plane.url, made.token);
    await page.goto(`${stage.plane.url}/networks`);
    await page.getByText('No nodes').waitFor();
    await page.getByRole('tab', { name: 'Names and addresses' }).click();
    await page.getByText('No deployments').waitFor();
  });
});

describe('volumes', () => {
  it('are created, shown with their copies, and deleted', async () => {
    const { page } = await stage.open('/volumes');
    await page.getByRole('link', { name: 'pg-data' }).click();
    await page.getByRole('region', { name: 'Where its bytes are' }).getByText('0.9 s behind').waitFor();
    await page.getByRole('region', { name: 'Mounted by' }).getByText('pg', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'History' }).getByText('volume.created').waitFor();
    await page.goto(`${stage.plane.url}/volumes`);
    await page.getByRole('button', { name: 'New volume' }).click();
    await page.getByLabel('Name').fill('scratch');
    await page.getByLabel('Size').fill('1Mi');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('[data-field=sizeBytes] [data-code=volume_size_invalid]').waitFor();
    await page.getByLabel('Size').fill('256Mi');
    await page.getByLabel('Copies beside the primary').fill('0');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'scratch' }).waitFor();
    await page.getByRole('main').getByText('Ready', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('scratch');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Volumes' }).waitFor();
  });

  it('have recommendations, which are applied or refused with the reason', async () => {
    const { page } = await stage.open('/recommendations');
    const row = page
      .getByRole('listitem')
      .filter({ hasText: 'uploads' })
      .filter({ hasText: 'copies' })
      .or(page.getByRole('listitem').filter({ hasText: 'uploads' }).filter({ hasText: 'replication' }));
    await row.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('dialog').getByText('Have 1 copy beside the primary').waitFor();
    // Somebody else was faster: the condition is gone, and what is shown is stale.
    const { body } = await stage.shop.call('GET', '/api/v1/dvm/recommendations?type=replication', undefined, {
      'x-tenant-id': stage.shop.id,
    });
    const applied: number[] = [];
    for (const { id } of body as { id: string }[])
      applied.push((await stage.shop.call('POST', `/api/v1/dvm/recommendations/${id}/apply`)).status);
    expect(Math.min(...applied)).toBeLessThan(300);
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('dialog').locator('[data-code^=dvm_recommendation_]').waitFor();
  });
});

describe('secrets', () => {
  it('are written, and never come back', async () => {
    const { page, complaints } = await stage.open('/secrets');
    const row = page.getByRole('row', { name: /resources\/mail/ });
    await row.getByText('missing').waitFor();
    const bodies: Promise<string>[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/api/')) bodies.push(response.text().catch(() => ''));
    });
    await row.getByRole('button', { name: 'Write resources/mail' }).click();
    await page.getByLabel('Key 1').fill('user');
    await page.getByLabel('Value 1', { exact: true }).fill(SECRET);
    await page.getByLabel('Keys to generate').fill('password');
    await page.getByRole('dialog').getByRole('button', { name: 'Write' }).click();
    await row.getByText('password, user').waitFor();
    await row.getByText('written').waitFor();
    expect(await page.content()).not.toContain(SECRET);
    await page.getByRole('region', { name: 'Who reads what' }).getByText('job report').waitFor();
    await page.getByRole('link', { name: 'resources/db', exact: true }).click();
    await page.getByRole('list', { name: 'Consumers' }).getByText('pg', { exact: true }).waitFor();
    await page.goto('about:blank');
    for (const body of await Promise.all(bodies)) expect(body).not.toContain(SECRET);
    expect(complaints).toEqual([]);
  });

  it('that nothing refers to are listed apart, and deleted', async () => {
    await stage.shop.call('PUT', '/api/v1/secrets/resources/spare', { generate: { keys: ['password'] } });
    const { page, complaints } = await stage.open('/secrets');
    const spare = page.getByRole('list', { name: 'Unreferenced secrets' });
    await spare.getByRole('link', { name: 'resources/spare' }).waitFor();
    expect(await spare.getByText('resources/db').count()).toBe(0);
    await spare.getByRole('button', { name: 'Delete resources/spare' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('resources/spare is deleted.').waitFor();
    await spare.getByRole('link', { name: 'resources/spare' }).waitFor({ state: 'detached' });
    expect((await stage.shop.call('GET', '/api/v1/secrets/resources/spare')).status).toBe(404);
    expect(complaints).toEqual([]);
  });
});

describe('jobs', () => {
  it('are created, run and read', async () => {
    const { page } = await stage.open('/jobs/new');
    await page.getByLabel('Name', { exact: true }).fill('Clean_Up');
    await page.getByLabel('Image').fill(IMAGE);
    await page.getByLabel('Schedule').fill('never');
    await page.getByRole('button', { name: 'Check' }).click();
    // All that is wrong, each at its field.
    await page.locator('[data-field=name] [role=alert]').waitFor();
    await page.locator('[data-field=schedule] [role=alert]').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('cleanup');
    await page.getByLabel('Schedule').fill('0 4 * * *');
    // Secrets, volumes and what goes before a run, by the fields of a deployment.
    await page.locator('summary').filter({ hasText: 'Secrets' }).click();
    await page.getByRole('button', { name: 'Add secret' }).click();
    await page.getByLabel('Name', { exact: true }).nth(1).fill('DB');
    await page.getByLabel('Path', { exact: true }).fill('resources/db');
    await page.locator('summary').filter({ hasText: 'Volumes' }).click();
    await page.getByRole('button', { name: 'Add volume' }).click();
    await page.getByLabel('Volume', { exact: true }).selectOption({ label: 'pg-data (replicated)' });
    await page.getByLabel('Path in the container').fill('/data');
    await page.getByLabel('Access').selectOption('Read only');
    await page.locator('summary').filter({ hasText: 'Before a run' }).click();
    await page.getByLabel('Deployment', { exact: true }).fill('nowhere');
    await page.getByLabel('Command in its instance').fill('pg_dump\n-Fc');
    await page.getByRole('button', { name: 'Check' }).click();
    await page
      .locator('[data-field="before.deployment"] [data-code=job_before_deployment_not_found]')
      .waitFor();
    await page.getByLabel('Deployment', { exact: true }).fill('web');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('[data-plan]').getByRole('region', { name: 'Placement' }).waitFor();
    expect((await stage.shop.call('GET', '/api/v1/jobs/cleanup')).status).toBe(404);
    await page.getByRole('button', { name: 'YAML' }).click();
    await page
      .getByLabel('Description as YAML')
      .fill(`name: cleanup\nimage: ${IMAGE}\nschedule: 0 4 * * *\nretries: 2\n`);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'cleanup' }).waitFor();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Retries').fill('1');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('[data-plan]').getByRole('region', { name: 'Changes' }).getByText('retries').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'cleanup', exact: true }).waitFor();
    expect((await stage.shop.call('GET', '/api/v1/jobs/cleanup')).body.retries).toBe(1);
    await page.getByText('It has not run yet').waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('list', { name: 'Runs' }).getByText('Running').waitFor();
    await page.getByRole('button', { name: 'Cancel the run' }).waitFor();
    await page.goto(`${stage.plane.url}/jobs/report`);
    await page.getByRole('list', { name: 'Runs' }).getByText('Succeeded').first().waitFor();
    await page.getByRole('log').getByText('12 reports written').waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('list', { name: 'Runs' }).getByText('Succeeded').nth(1).waitFor();
  });
});

describe('webhooks', () => {
  it('are created, held, changed, have what was given up sent again, and are deleted', async () => {
    const { page, complaints } = await stage.open('/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('chat');
    await dialog.getByLabel('Address').fill('http://10.0.0.1/hooks');
    await dialog.getByLabel('Secret of the signing key').fill('resources/hooks');
    await dialog.getByLabel('Key in it').fill('key');
    await dialog.getByLabel('Only these kinds').fill('node.failed\njob.*');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.locator('[data-field=url] [data-code=webhook_invalid]').waitFor();
    await dialog.getByLabel('Address').fill('https://chat.invalid/hooks');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'chat' }).waitFor();
    await page.getByRole('region', { name: 'Webhook' }).getByText('node.failed, job.*').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('active', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Only these kinds').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('region', { name: 'Webhook' }).getByText('all events').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('textbox').fill('chat');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'alerts' }).click();
    await page.getByRole('region', { name: 'Deliveries' }).getByText('1, 1.5 KiB of 1 MiB').waitFor();
    await page
      .getByRole('list', { name: 'Dead letters' })
      .getByRole('button', { name: /^Send .* again$/ })
      .click();
    await page.getByText('1 dead letter of alerts to be sent again.').waitFor();
    expect((await stage.shop.call('GET', '/api/v1/webhooks/chat')).status).toBe(404);
    expect(complaints).toEqual([]);
  });
});

describe('backups', () => {
  it('are taken, exported, imported and restored', async () => {
    await stage.deploy('shop', { environment: { A: '1' } });
    const { page } = await stage.open('/backups');
    await page.getByRole('button', { name: 'Take a backup' }).click();
    await page.getByLabel('Deployment').selectOption('shop');
    await page.getByRole('button', { name: 'Take', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'shop' }).first();
    await row.waitFor();
    const download = page.waitForEvent('download');
    await row.getByRole('button', { name: /^Export/ }).click();
    const file = await (await download).path();
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByLabel('File').setInputFiles(file);
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await page.getByText('imported', { exact: true }).waitFor();
    await stage.shop.call('PUT', '/api/v1/deployments/shop', { environment: { A: '2' } });
    await row.getByRole('button', { name: /^Restore/ }).click();
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('dialog').getByText('environment.A', { exact: true }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    // The dialog has a heading with this word in it, too.
    await page.waitForURL(/\/deployments\/shop/);
    await page.getByRole('heading', { name: 'shop', exact: true }).waitFor();
    const { body } = await stage.shop.call('GET', '/api/v1/deployments/shop');
    expect(body.environment).toEqual({ A: '1' });
  });
});

describe('events and audit', () => {
  it('come as they happen, and are filtered', async () => {
    const { page } = await stage.open('/events');
    await page.locator('#navigation [data-live=live]').waitFor();
    await stage.shop.call('POST', '/api/v1/networks', { name: 'sudden', nodeId: 'paris-1' });
    await page.getByRole('button', { name: 'network.created' }).first().waitFor();
    await page.getByLabel('Of', { exact: true }).selectOption('Network');
    await page.getByRole('button', { name: 'deployment.created' }).first().waitFor({ state: 'detached' });
    await page.getByLabel('Find events').fill('sudden');
    await page.getByRole('button', { name: 'network.created' }).click();
    await page.getByRole('dialog').getByLabel('Details').getByText('paris-1').waitFor();
    await page.goto(`${stage.plane.url}/events?failures=true`);
    await page.getByRole('button', { name: 'job.failed' }).waitFor();
    expect(await page.getByRole('button', { name: 'network.created' }).count()).toBe(0);
    await page.goto(`${stage.plane.url}/audit`);
    await page.getByLabel('Find audit records').fill('network.created');
    await page.getByRole('row').filter({ hasText: 'sudden' }).waitFor();
  });
});

describe('tenants', () => {
  it('are made with a quota and a token, which is shown once', async () => {
    const page = await platformAdmin('/tenants');
    await settled(page);
    // The last page of a navigation that is higher than the window.
    expect(
      await page.evaluate(`(() => {
        const pages = document.querySelector('nav[aria-label=Pages]');
        const [room, at] = [pages, pages.querySelector('[aria-current=page]')].map((e) => e.getBoundingClientRect());
        return { isHigher: pages.scrollHeight > pages.clientHeight, isInSight: at.top >= room.top && at.bottom <= room.bottom };
      })()`),
    ).toEqual({ isHigher: true, isInSight: true });
    await page.getByRole('button', { name: 'New tenant' }).click();
    await page.getByLabel('Short name').fill('Acme!');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.locator('[data-code=tenant_name_invalid]').waitFor();
    await page.getByLabel('Short name').fill('acme');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Quota of acme' }).click();
    await page.getByLabel('Containers').fill('-1');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-field=containers] [data-code=quota_invalid]').waitFor();
    await page.getByLabel('Containers').fill('10');
    await page.getByLabel('Memory in GiB').fill('4');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: '10 containers, 4 GiB' }).waitFor();
    await page.getByRole('button', { name: 'Defaults of acme' }).click();
    const defaults = page.getByRole('dialog', { name: 'Defaults of acme' });
    expect(await defaults.getByLabel('Processes and threads').getAttribute('placeholder')).toBe('4096');
    await defaults.getByLabel('Processes and threads').fill('1');
    await defaults.getByRole('button', { name: 'Save' }).click();
    await defaults.locator('[data-field=pids] [data-code=container_defaults_invalid]').waitFor();
    await defaults.getByLabel('Processes and threads').fill('1024');
    await defaults.getByRole('button', { name: 'Save' }).click();
    await defaults.waitFor({ state: 'detached' });
    const { body: acme } = await stage.plane.admin('GET', '/api/v1/tenants/acme');
    expect(acme.containerDefaults.set).toEqual({ pids: 1024 });
    // Limits that the form does not show stay when it is saved.
    const kept = { containers: 10, memoryBytes: 4 * 2 ** 30, records: { deployments: 7 } };
    await stage.plane.admin('PUT', '/api/v1/tenants/acme/quota', kept);
    await page.getByRole('button', { name: 'Quota of acme' }).click();
    await page.getByRole('meter', { name: 'deployments' }).waitFor();
    await page.getByLabel('Streams at a time').fill('9');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: '10 containers, 4 GiB, 9 streams' }).waitFor();
    const saved = await stage.plane.admin('GET', '/api/v1/tenants/acme');
    expect(saved.body.quota).toEqual({ ...kept, streams: 9 });
    expect(await findings(page, '/tenants')).toEqual([]);
    await page.getByRole('button', { name: 'Act for acme' }).click();
    await page.getByRole('button', { name: /^Tenant acme/ }).waitFor();
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name', { exact: true }).fill('ops');
    await page.getByLabel('Role').selectOption('tenant-admin');
    await page.getByRole('button', { name: 'Make the token' }).click();
    const token = await page.getByLabel('Token', { exact: true }).innerText();
    expect((await stage.plane.as(token)('GET', '/api/v1/session')).body.tenant.slug).toBe('acme');
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('row').filter({ hasText: 'ops' }).getByText('active').waitFor();
    expect(await page.content()).not.toContain(token);
    await page.getByRole('button', { name: 'Revoke ops' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row').filter({ hasText: 'ops' }).getByText('revoked').waitFor();
    expect((await stage.plane.as(token)('GET', '/api/v1/session')).status).toBe(401);
  });
});
