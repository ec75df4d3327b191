import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster } from '../support/harness/cluster.ts';
import { nginxImage } from '../support/harness/nginx-image.ts';
import { postgresImage } from '../support/harness/postgres-image.ts';
import { typeCommand } from '../support/harness/typed-command.ts';

const NGINX = 'berth.test/nginx:1';
const POSTGRES = 'berth.test/postgres:15';
const WRONG = 'not-the-password-51423';
const folder = mkdtempSync(join(tmpdir(), 'berth-reasons-'));
let cluster: Cluster;
let shop: Awaited<ReturnType<Cluster['plane']['tenant']>>;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  const images = {
    [NGINX]: { entries: nginxImage().files ?? [] },
    [POSTGRES]: { entries: postgresImage().files ?? [], changes: ['USER postgres'] },
  };
  await cluster.node('why-1', shop, { images });
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await cluster.stop();
});

const berth = (...words: readonly string[]) =>
  typeCommand(words, {
    HOME: folder,
    BERTH_CLI_SERVER: cluster.plane.url,
    BERTH_CLI_TOKEN: shop.token,
    PATH: process.env['PATH'] ?? '',
  });

function file(spec: Readonly<Record<string, unknown>>): string {
  const path = join(folder, `${String(spec['name'])}.json`);
  writeFileSync(path, JSON.stringify({ kind: 'Deployment', replicas: 1, ...spec }));
  return path;
}

const CONFIG = (listen: string) =>
  `user root; pid /tmp/nginx.pid; error_log stderr; events {} http { access_log off; server { ${listen} 8080; root /usr/share/nginx/html; } }`;

const web = (listen: string) => ({
  name: 'web',
  image: NGINX,
  command: [
    'sh',
    '-c',
    `echo '${CONFIG(listen)}' > /tmp/nginx.conf; exec nginx -e stderr -c /tmp/nginx.conf -g 'daemon off;'`,
  ],
  healthCheck: { type: 'exec', command: ['wget -q -O /dev/null http://127.0.0.1:8080/'], interval: '500ms' },
  update: { progressDeadline: '3s', onFailure: 'rollback' },
});

// oxlint-disable-next-line typescript/no-explicit-any
const failures = async (name: string): Promise<any[]> =>
  (await shop.call('GET', `/api/v1/deployments/${name}/failures`)).body;

describe('a rollout that fails', () => {
  it('says why, in time, after the version before is back and the container is gone', async () => {
    expect(await berth('apply', '-f', file(web('listen')))).toMatchObject({ status: 0 });
    const began = performance.now();
    const { status, err } = await berth('apply', '-f', file(web('lisen')));
    expect(status).toBe(4);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(err).toMatch(/version \d+ failed, and the version before is back/);
    expect(err).toMatch(
      /ended with exit code 1(?: after|; it ended) .*: `.*\[emerg\].*unknown directive "lisen"/,
    );
    expect(err).toMatch(/next: berth logs web --previous$/m);
    await eventually(
      'the failed one is gone',
      () => cluster.containers('web'),
      (all) => all.length === 1,
    );
    const { out } = await berth('logs', 'web', '--previous');
    expect(out).toMatch(/\[emerg\].*unknown directive "lisen"/);
    const failed = (await cluster.events(shop, 'deployment.rollout_failed'))[0];
    expect(failed?.message).toContain('unknown directive "lisen"');
    const known = await failures('web');
    expect(known).not.toEqual([]);
    for (const one of known)
      expect(one).toMatchObject({ nodeId: 'why-1', exitCode: 1, reason: 'container_exited' });
    const { body: printed } = await shop.call('GET', '/api/v1/deployments/web/failures?output=true');
    expect(printed).toHaveLength(known.length);
    for (const { lines, output } of printed) {
      expect(output).toHaveLength(lines);
      expect(output.some(({ text }: { text: string }) => text.includes('unknown directive "lisen"'))).toBe(
        true,
      );
    }
    expect((await berth('describe', 'deployment', 'web')).out).toMatch(
      /Failures[\s\S]*unknown directive "lisen"/,
    );
  });

  it('keeps the reason without the credential that the program was given', async () => {
    const url = `postgres://postgres:${WRONG}@db/postgres`;
    await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { URL: url } });
    await shop.call('PUT', '/api/v1/secrets/resources/pg', { values: { PASSWORD: 'the-other-62534' } });
    await cluster.deploy(shop, {
      name: 'db',
      image: POSTGRES,
      command: ['postgres-start'],
      secrets: [{ name: 'POSTGRES', vault_path: 'resources/pg', anchor: 'external' }],
      healthCheck: { type: 'exec', command: ['pg_isready -q -h 127.0.0.1'], interval: '500ms' },
    });
    await cluster.phase(shop, 'db', 'Running');
    const { status, err } = await berth(
      'apply',
      '-f',
      file({
        name: 'app',
        image: POSTGRES,
        command: [
          'sh',
          '-c',
          `until pg_isready -qh db; do sleep 0.2; done; p=\${DB_URL##*:}; echo "connects to $DB_URL with \${p%@*}"; psql "$DB_URL" -c "select 1" || exit 3; sleep 3600`,
        ],
        secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }],
        healthCheck: { type: 'exec', command: ['test -e /tmp/connected'], interval: '500ms' },
        update: { progressDeadline: '6s', onFailure: 'leave' },
      }),
    );
    expect(status).toBe(4);
    expect(err).toMatch(/exit code 3.*`.*FATAL: +password authentication failed for user "postgres"/);
    const { out } = await berth('logs', 'app', '--previous');
    expect(out).toContain('connects to [redacted] with [redacted]');
    expect(`${out}${err}`).not.toContain(WRONG);
    expect((await failures('app')).length).toBeLessThanOrEqual(2);
  });

  it('leaves nothing behind when the deployment goes', async () => {
    await cluster.remove(shop, 'web', 'app', 'db');
    await cluster.deploy(shop, { name: 'app' });
    expect(await failures('app')).toEqual([]);
    expect((await berth('logs', 'app', '--previous')).err).toContain('no instance of app failed lately');
  });
});
