import { afterAll, beforeAll, describe, it } from 'vitest';
import { openPage, signIn } from '../support/harness/browser.ts';
import { BOOTSTRAP } from '../support/harness/control-plane.ts';
import { type DashboardStage, dashboardStage } from '../support/harness/dashboard-stage.ts';
import { EVERY_PAGE, FORMS, picture, settled } from '../support/harness/pictures.ts';
import { eventually } from '../support/eventually.ts';
import { direct, meshed, reaches, relayed } from '../support/agents/meshed.ts';
import { createVolume, MIB, volumeOnce } from '../support/agents/volume-agent.ts';

/** Pictures of the guide: run with BERTH_SCREENSHOTS=1; of every page with BERTH_SCREENSHOTS_DIR=FOLDER as well. */

let stage: DashboardStage;
let pictures: readonly (readonly [name: string, path: string])[] = [];

const image = (name: string) => `localhost:1/shop/${name}`;
const requests = (cpu: number, memory: string) => ({ resources: { requests: { cpu, memory } } });
const reads = (name: string, label: string) => ({
  name,
  vault_path: `resources/${label}`,
  anchor: 'process',
});

/** Jobs: one that runs well, one that fails, one that goes on. */
const ENDS: Readonly<Record<string, number>> = { 'job.nightly-report': 0, 'job.import-prices': 3 };

beforeAll(async () => {
  stage = await dashboardStage();
  const { call } = stage.shop;
  const nodes = {
    'berlin-1': ['DE', 'ssd', 0.42],
    'berlin-2': ['DE', 'hdd', 0.9],
    'madrid-1': ['ES', 'ssd', 0.42],
    'paris-1': ['FR', 'ssd', 0.42],
  } as const;
  const names = Object.keys(nodes);
  const host = (name: string) => `192.0.2.${names.indexOf(name) + 1}`;
  // The last is behind a firewall.
  const path = (from: string, to: string) =>
    [from, to].includes('paris-1') ? relayed(to) : direct(to, `${host(to)}:51820`, from < to ? 0.6 : 14.2);
  for (const [name, [country, disk, volumesFilled]] of Object.entries(nodes))
    await stage.agent(name, {
      ...meshed(host(name)),
      ...reaches(...names.filter((to) => to !== name).map((to) => () => path(name, to))),
      labels: { 'berth.io/country': country, disk },
      volumesFilled,
      logLines: ['reading orders of 2026-11-14', '1,204 orders, 12 reports written', 'done in 3.1 s'],
      judge: ({ deployment }) => {
        const exitCode = ENDS[deployment];
        if (exitCode === undefined) return undefined;
        const why = exitCode === 0 ? {} : { reason: 'exit_code', message: 'ended with exit code 3' };
        return { phase: 'exited', exitCode, ...why };
      },
    });
  const volumes = await Promise.all([
    createVolume(call, 'pg-data', { replicas: 2, sizeBytes: 2048 * MIB, nodeId: 'berlin-1' }),
    createVolume(call, 'uploads', { sizeBytes: 512 * MIB, nodeId: 'berlin-2' }),
    createVolume(call, 'search-index', { replicas: 1, sizeBytes: 1024 * MIB, nodeId: 'madrid-1' }),
  ]);
  for (const id of volumes) await volumeOnce(call, id, ({ phase }) => phase === 'Ready');
  await call('PUT', '/api/v1/secrets/resources/db', {
    values: { user: 'app' },
    generate: { keys: ['password'] },
  });
  await call('PUT', '/api/v1/secrets/resources/queue', { generate: { keys: ['token'] } });
  await stage.deploy('web', {
    image: image('web:1.4.2'),
    replicas: 6,
    secrets: [reads('DB', 'db'), reads('QUEUE', 'queue')],
    ...requests(0.5, '512Mi'),
  });
  await stage.deploy('api', {
    image: image('api:3.1.0'),
    replicas: 4,
    secrets: [reads('DB', 'db'), reads('MAIL', 'mail')],
    ...requests(1, '1Gi'),
  });
  await stage.deploy('pg', {
    image: image('postgres:17.2'),
    volumes: [{ volumeId: volumes[0], mountPath: '/data' }],
    secrets: [reads('DB', 'db')],
    ...requests(1, '2Gi'),
  });
  for (const [name, more] of [
    ['nightly-report', { schedule: '0 3 * * *', secrets: [reads('DB', 'db')] }],
    ['import-prices', { retries: 0 }],
    ['reindex', {}],
  ] as const)
    await call('POST', '/api/v1/jobs', {
      name,
      image: image(`${name}:2.1.0`),
      command: [`/bin/${name}`],
      ...more,
    });
  await call('POST', '/api/v1/jobs/nightly-report/run');
  for (const deploymentName of ['web', 'api', 'pg'])
    await call('POST', '/api/v1/backups', { deploymentName });
  await call('POST', '/api/v1/webhooks', {
    name: 'alerts',
    url: 'https://hooks.example.com/berth',
    signing: { vault_path: 'resources/queue', key: 'token' },
  });
  await stage.plane.tenant('bank');
  await stage.plane.admin('PUT', '/api/v1/tenants/shop/quota', {
    containers: 200,
    cpu: 64,
    memoryBytes: 2 ** 37,
  });
  await eventually(
    () => call('GET', '/api/v1/jobs/nightly-report'),
    ({ body }) => body.status.runs[0]?.state === 'Succeeded',
  );
  pictures = [
    ['nodes', '/nodes'],
    ['node', '/nodes/berlin-1'],
    ['network', '/networks'],
    ['volumes', '/volumes'],
    ['volume', `/volumes/${volumes[0] ?? ''}`],
    ['recommendations', '/recommendations'],
    ['secrets', '/secrets'],
    ['jobs', '/jobs'],
    ['job', '/jobs/nightly-report'],
    ['backups', '/backups'],
    ['events', '/events'],
    ...(EVERY_PAGE
      ? ([
          ['new-job', '/jobs/new'],
          ['failed-job', '/jobs/import-prices'],
          ['secret', '/secrets/resources/db'],
          ['webhooks', '/webhooks'],
          ['webhook', '/webhooks/alerts'],
          ['sessions', '/tokens'],
        ] as const)
      : []),
  ];
});
afterAll(() => stage.close());

describe('pictures of records', () => {
  it.each(FORMS)('%s at %i', async (...form) => {
    const [theme, width, height] = form;
    const { page } = await stage.open('/', { theme, width, height });
    for (const [name, path] of pictures) {
      await page.goto(stage.plane.url + path);
      await settled(page);
      if (name === 'job') await page.getByRole('log').getByText('done in').waitFor();
      await picture(page, name, form);
    }
    await page.goto(`${stage.plane.url}/nodes`);
    await page.getByRole('button', { name: 'Enrol a node' }).click();
    await page.getByLabel('Name').fill('munich-1');
    await page.getByRole('button', { name: 'Make the line' }).click();
    await page.getByText('Waiting for munich-1 to arrive').waitFor();
    await picture(page, 'enrol', form);
    await page.goto(`${stage.plane.url}/secrets`);
    await page.getByRole('button', { name: 'Write a secret' }).click();
    await page.getByLabel('Key 1').waitFor();
    await picture(page, 'write-secret', form);
    const platform = await openPage(stage.browser, { theme, width, height });
    await signIn(platform.page, stage.plane.url, BOOTSTRAP);
    for (const name of ['tenants', ...(EVERY_PAGE ? ['all-tenants', 'audit', 'tokens'] : [])]) {
      await platform.page.goto(`${stage.plane.url}/${name}`);
      await settled(platform.page);
      await picture(platform.page, name, form);
    }
  });
});
