import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { BOX, Cluster, type ClusterNode, type Tenant } from '../support/harness/cluster.ts';
import { freePort } from '../support/harness/free-port.ts';
import { MONITORING, panelQueries, RULES } from '../support/harness/monitoring.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { Program } from '../support/harness/program.ts';
import { firstOfEach, WebhookReceiver } from '../support/harness/webhook-receiver.ts';

/**
 * Real Prometheus and Alertmanager with the shipped rules, over a real cluster: what goes wrong is what the receiver gets, and nothing else, and
 * it hears of every end. A receiver of webhooks hears the same from the control planes themselves. Only in the long tier: rules wait for minutes.
 */

const ALERT_MS = 240_000;
const MIB = 2 ** 20;

const TOLD_OF_SHOP = [
  'node.failed',
  'node.lost',
  'node.ready',
  'job.failed',
  'job.succeeded',
  'volume.nearly_full',
  'volume.has_room',
  'volume.degraded',
  'deployment.degraded',
  'certificate.*',
];

interface Alert {
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>>;
}

const folder = mkdtempSync(join(tmpdir(), 'berth-monitoring-'));
const got: Alert[] = [];
const programs: Program[] = [];
const hooks = new WebhookReceiver();
let receiver: Server;
let prometheus: string;
let cluster: Cluster;
/** An installation of its own, for its certificate. */
let encrypted: PlaneProcess;
let shop: Tenant;
let steady: ClusterNode;
let dying: ClusterNode;

const named = ({ labels: { alertname = '', instance: _where, severity: _how, job: _job, ...of } }: Alert) =>
  [alertname, ...Object.values(of).sort()].join(' ');
/** What fires, as the receiver was last told. */
function firing(): readonly string[] {
  const last = new Map(got.map((alert) => [named(alert), alert.status]));
  return [...last].flatMap(([name, status]) => (status === 'firing' ? [name] : [])).sort();
}

const fires = (...alerts: readonly string[]) =>
  eventually(
    `fires: ${alerts.join(', ')}`,
    async () => firing(),
    (now) => JSON.stringify(now) === JSON.stringify(alerts.toSorted()),
    ALERT_MS,
  );

/** What webhooks were told, each event once. */
const told = () =>
  firstOfEach(hooks.taken())
    .map(({ event: { data, subject } }) => `${data.kind} ${subject}`)
    .sort();
const tells = (...events: readonly string[]) =>
  eventually(
    `webhooks tell ${events.join(', ')}`,
    told,
    (now) => JSON.stringify(now) === JSON.stringify(events.toSorted()),
    ALERT_MS,
  );

async function ask(query: string): Promise<readonly { readonly value: readonly [number, string] }[]> {
  const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { status, error, data } = (await answer.json()) as {
    readonly status: string;
    readonly error?: string;
    readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
  };
  if (status !== 'success') throw new Error(`${query}: ${error}`);
  return data.result;
}

function writeCertificate(days: number): void {
  const { key, cert } = selfSigned(['IP:127.0.0.1'], days);
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
}

/** The shipped files; only addresses, the token and the pace are those of the test. */
async function startPrometheus(targets: readonly string[], tls: string): Promise<void> {
  const shipped = (name: string) => parse(readFileSync(join(MONITORING, name), 'utf8'));
  const [ownPort, alertPort] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const { port } = receiver.address() as AddressInfo;
  const alertmanager = shipped('alertmanager.yml');
  Object.assign(alertmanager.route, { group_wait: '1s', group_interval: '1s' });
  alertmanager.receivers[0].webhook_configs[0].url = `http://127.0.0.1:${port}/alerts`;
  writeFileSync(join(folder, 'alertmanager.yml'), stringify(alertmanager));
  const config = shipped('prometheus.yml');
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
  config.rule_files = [RULES];
  config.alerting.alertmanagers[0].static_configs[0].targets = [`127.0.0.1:${alertPort}`];
  const [scrape] = config.scrape_configs;
  const credentials = (name: string) => ({ authorization: { credentials_file: join(folder, name) } });
  config.scrape_configs = [
    { ...scrape, ...credentials('token'), static_configs: [{ targets }] },
    {
      ...scrape,
      ...credentials('token-tls'),
      job_name: 'berth-tls',
      scheme: 'https',
      tls_config: { insecure_skip_verify: true },
      static_configs: [{ targets: [tls] }],
      relabel_configs: [{ target_label: 'job', replacement: 'berth' }],
    },
  ];
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  const data = (name: string) => join(folder, name);
  const start = (...line: readonly string[]) => programs.push(new Program(line, process.env));
  start(
    'prometheus-alertmanager',
    `--config.file=${data('alertmanager.yml')}`,
    `--storage.path=${data('alerts')}`,
    `--web.listen-address=127.0.0.1:${alertPort}`,
    '--cluster.listen-address=',
  );
  start(
    'prometheus',
    `--config.file=${data('prometheus.yml')}`,
    `--storage.tsdb.path=${data('series')}`,
    `--web.listen-address=127.0.0.1:${ownPort}`,
  );
  prometheus = `http://127.0.0.1:${ownPort}`;
  await eventually(
    'both targets are scraped',
    () => ask('sum(up{job="berth"})').catch(() => []),
    ([sum]) => sum?.value[1] === '2',
    60_000,
  );
}

async function token(plane: PlaneProcess): Promise<string> {
  const made = await plane.admin('POST', '/api/v1/tokens', { name: 'prometheus', role: 'metrics' });
  return made.body.token as string;
}

const job = (name: string, script: string) =>
  shop.call('POST', '/api/v1/jobs', { kind: 'Job', name, image: BOX, command: ['sh', '-c', script] });

describe.runIf(LONG_TIER)('with Prometheus and Alertmanager', () => {
  let volume: string;
  const broken = () => [
    'node.failed Node/dying',
    'node.lost Node/dying',
    'job.failed Job/nightly',
    `volume.nearly_full Volume/${volume}`,
    'certificate.expiring ControlPlane/control-plane',
  ];

  beforeAll(async () => {
    ensurePackages(['prometheus', 'prometheus-alertmanager']);
    receiver = createServer((request, response) => {
      void text(request).then((body) => {
        const { alerts } = JSON.parse(body) as { readonly alerts: readonly Alert[] };
        got.push(...alerts);
        response.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    await hooks.start();
    cluster = new Cluster(
      await new PlaneProcess({ BERTH_METRICS_OPEN: 'false', ...hooks.environment }).start(),
    );
    writeCertificate(90);
    encrypted = await new PlaneProcess({
      BERTH_METRICS_OPEN: 'false',
      ...hooks.environment,
      BERTH_TLS_CERT: join(folder, 'cert.pem'),
      BERTH_TLS_KEY: join(folder, 'key.pem'),
    }).start();
    shop = await cluster.plane.tenant('shop');
    steady = await cluster.node('steady', shop, { volumeEngine: 'btrfs' });
    const made = await shop.call('POST', '/api/v1/dvm/volumes', {
      name: 'data',
      class: 'replicated',
      type: 'volume',
      sizeBytes: 256 * MIB,
      replicas: 0,
    });
    volume = made.body.id as string;
    await eventually(
      'the volume is ready',
      () => shop.call('GET', `/api/v1/dvm/volumes/${volume}`),
      ({ body }) => body.phase === 'Ready',
    );
    const volumes = [{ volumeId: volume, mountPath: '/data', readOnly: false }];
    await cluster.deploy(shop, { name: 'db', volumes });
    await cluster.phase(shop, 'db', 'Running');
    await shop.call('POST', '/api/v1/jobs', { kind: 'Job', name: 'good', image: BOX, command: ['true'] });
    await cluster.plane.admin('PUT', '/api/v1/tenants/shop/quota', { containers: 20 });
    dying = await cluster.node('dying', shop);
    writeFileSync(join(folder, 'token'), await token(cluster.plane));
    const own = { headers: { authorization: 'Bearer x' } };
    expect((await fetch(`${cluster.plane.url}/metrics`, own)).status).toBe(401);
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    writeFileSync(join(folder, 'token-tls'), await token(encrypted));
    await hooks.subscribe(shop.call, 'shop', { kinds: TOLD_OF_SHOP });
    await hooks.subscribe(encrypted.admin, 'platform', { kinds: ['certificate.*'] });
    await startPrometheus([`127.0.0.1:${cluster.plane.port}`], `127.0.0.1:${encrypted.port}`);
  }, 300_000);

  afterAll(async () => {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    for (const program of programs) await program.end('SIGTERM');
    receiver?.closeAllConnections();
    receiver?.close();
    await hooks.dispose();
    try {
      await cluster?.stop();
    } finally {
      await encrypted?.dispose();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('every query of the dashboard is answered, and all but those about what is not here with figures', async () => {
    for (const query of ['rate(berth_http_requests_total[1m])', 'berth_workload_cpu_cores'])
      await eventually(
        `figures for ${query}`,
        () => ask(query),
        (rows) => rows.length > 0,
        120_000,
      );
    const empty = new Set<string>();
    for (const { title, query } of panelQueries()) if ((await ask(query)).length === 0) empty.add(title);
    // Commits come too late now and then.
    empty.delete('Commits of controllers that failed or came too late');
    expect([...empty].sort()).toEqual(
      [
        'Age of copies',
        'Alerts',
        'Certificates that end first',
        'Deployments in trouble',
        'Failed jobs',
        'Nodes in trouble',
        'Requests through the ingress',
        'Time of a request through the ingress',
      ].sort(),
    );
    expect(firing()).toEqual([]);
    expect(told()).toEqual([]);
  });

  it('a node that dies, a job that fails, a volume that fills and a certificate that ends are told, each once, and nothing else', async () => {
    got.length = 0;
    await dying.agent.kill9();
    expect((await job('nightly', 'exit 3')).status).toBe(201);
    writeCertificate(5);
    const filled = await cluster.exec(shop, 'db', [
      'dd',
      'if=/dev/zero',
      'of=/data/big',
      'bs=1M',
      'count=235',
    ]);
    expect(filled.status, JSON.stringify(filled.body)).toBe(200);
    await fires(
      'BerthJobFailed nightly shop',
      'BerthNodeFailed dying shop',
      'BerthTlsCertificateExpiring',
      'BerthVolumeFull data shop',
    );
    await tells(...broken());
  }, 300_000);

  it('and all of it is told to be over', async () => {
    await dying.agent.start();
    await shop.call('PUT', '/api/v1/jobs/nightly', { command: ['true'] });
    expect((await shop.call('POST', '/api/v1/jobs/nightly/run')).status).toBe(200);
    writeCertificate(90);
    await cluster.exec(shop, 'db', ['rm', '/data/big']);
    await fires();
    expect(new Set(got.map((alert) => named(alert))).size).toBe(4);
    await tells(
      ...broken(),
      'node.ready Node/dying',
      'job.succeeded Job/nightly',
      `volume.has_room Volume/${volume}`,
      'certificate.renewed ControlPlane/control-plane',
    );
    console.log(`webhooks: ${JSON.stringify({ told: told().length, requests: hooks.taken().length })}`);
    expect(steady.agent.running).toBe(true);
  }, 300_000);
});
