import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DashboardStage, dashboardStage } from '../support/harness/dashboard-stage.ts';
import { EVERY_PAGE, FORMS, picture, settled } from '../support/harness/pictures.ts';

/** Pictures of the guide: run with BERTH_SCREENSHOTS=1; of every page with BERTH_SCREENSHOTS_DIR=FOLDER as well. */
const PICTURES = [
  ['overview', '/'],
  ['deployments', '/deployments'],
  ['deployment', '/deployments/web'],
  ['rotation', '/deployments/api?tab=secrets'],
  ['explain', '/deployments/ledger/explain'],
  ['edit', '/deployments/web/edit'],
] as const;
const OTHERS = [
  ['new-deployment', '/deployments/new'],
  ['logs', '/deployments/web?tab=logs'],
  ['deployment-events', '/deployments/web?tab=events'],
  ['canary', '/deployments/cart?tab=rollout'],
  ['configuration', '/deployments/web?tab=configuration'],
  ['failing', '/deployments/mailer'],
  ['topology', '/topology'],
] as const;

let stage: DashboardStage;

const image = (name: string) => `localhost:1/shop/${name}`;
const requests = (cpu: number, memory: string) => ({ resources: { requests: { cpu, memory } } });

beforeAll(async () => {
  stage = await dashboardStage();
  const nodes = {
    'berlin-1': ['DE', 'ssd'],
    'berlin-2': ['DE', 'hdd'],
    'madrid-1': ['ES', 'ssd'],
    'paris-1': ['FR', 'ssd'],
  };
  for (const [name, [country = '', disk = '']] of Object.entries(nodes))
    await stage.agent(name, {
      labels: { 'berth.io/country': country, disk },
      logLines: ['listening on :8080', 'GET /ok 200'],
      judge: ({ deployment }) =>
        deployment === 'mailer'
          ? { phase: 'failed', reason: 'image_pull_failed', message: 'the registry answered 500' }
          : undefined,
    });
  await stage.deploy('web', {
    image: image('web:1.4.2'),
    replicas: 4,
    environment: { LOG_LEVEL: 'info' },
    healthCheck: { type: 'exec', command: ['wget -qO- localhost:8080/ok'], timeout: '10s', retries: 3 },
    ...requests(0.5, '256Mi'),
  });
  await stage.deploy('api', {
    image: image('api:3.1.0'),
    replicas: 3,
    secrets: [
      { name: 'DB', vault_path: 'resources/db', anchor: 'process', generate: { keys: ['password'] } },
    ],
    ...requests(1, '512Mi'),
  });
  await stage.deploy('mailer', { image: image('mailer:2.0.1'), replicas: 2 });
  await stage.deploy('ledger', {
    image: image('ledger:1.0.0'),
    replicas: 2,
    placement: { residency: { country: 'DE' }, constraints: { disk: 'nvme' } },
    ...requests(2, '4Gi'),
  });
  await stage.deploy('search', { image: image('search:7.2.0'), dependsOn: { index: 'healthy' } });
  await stage.deploy('batch', { image: image('batch:1.1.0'), replicas: 0 });
  for (const name of ['cart', 'catalog', 'checkout', 'images', 'payments', 'reviews', 'shipping', 'stock'])
    await stage.deploy(name, {
      image: image(`${name}:1.0.${name.length}`),
      replicas: 1 + (name.length % 3),
      ...requests(0.1, '64Mi'),
    });
  await stage.shop.call('PUT', '/api/v1/deployments/web', {
    environment: { LOG_LEVEL: 'debug', REGION: 'eu' },
  });
  await stage.shop.call('POST', '/api/v1/deployments/cart/canary', { image: image('cart:1.1.0') });
  const { page } = await stage.open('/deployments/web');
  await page.getByRole('main').getByText('Running', { exact: true }).first().waitFor();
  await page.goto(`${stage.plane.url}/deployments/api?tab=secrets`);
  await page.getByText('Every instance runs').waitFor();
  await page.getByRole('button', { name: /^Stage the/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stage', exact: true }).click();
  await page.locator('[data-phase=stage][aria-current=step]').waitFor();
  await page.getByText('Every instance runs').waitFor();
});
afterAll(() => stage.close());

describe('pictures of the guide', () => {
  it.each(FORMS)('%s at %i', async (...form) => {
    const [theme, width, height] = form;
    const { page, complaints } = await stage.open('/', { theme, width, height });
    for (const [name, path] of [...PICTURES, ...(EVERY_PAGE ? OTHERS : [])]) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      await picture(page, name, form);
    }
    expect(complaints).toEqual([]);
  });
});
