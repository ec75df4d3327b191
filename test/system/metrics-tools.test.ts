import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { metricsIn, MONITORING, panelQueries, RULES } from '../support/harness/monitoring.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** What is exposed and shipped for Prometheus, held against Prometheus' own tools. */

const folder = mkdtempSync(join(tmpdir(), 'berth-metrics-'));
let plane: ControlPlane;
let text: string;
let exposed: ReadonlySet<string>;

function tool(program: 'promtool' | 'amtool', args: readonly string[], input?: string) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: MONITORING, input });
  return { status, said: `${stdout}${stderr}` };
}

beforeAll(async () => {
  ensurePackages(['prometheus', 'prometheus-alertmanager']);
  plane = await startControlPlane();
  const { call, token } = await plane.tenant('shop');
  await call('POST', '/api/v1/deployments', { name: 'web', image: '127.0.0.1:1/shop/web:1' });
  await call('POST', '/api/v1/dvm/volumes', { name: 'd', class: 'ephemeral', type: 'tmpfs', sizeBytes: 1 });
  await plane.admin('PUT', '/api/v1/tenants/shop/quota', { containers: 3, cpu: 2 });
  await plane.as(token)('GET', '/api/v1/deployments/none');
  text = String((await plane.admin('GET', '/metrics')).body);
  exposed = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
});

afterAll(async () => {
  await plane?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('what is exposed', () => {
  it('has nothing that promtool would have otherwise', () => {
    expect(tool('promtool', ['check', 'metrics'], text)).toEqual({ status: 0, said: '' });
  });

  it('has the stock names of the process, the build, and figures of a tenant by its slug', () => {
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_heap_size_used_bytes',
    ])
      expect(exposed).toContain(name);
    expect(text).toMatch(/^berth_build_info\{version="[^"]+",node_version="v\d+[^"]*",store="sqlite"\} 1$/m);
    expect(text).toContain('berth_volumes{tenant="shop",phase="Ready"}');
    expect(text).toContain('berth_quota_limit{tenant="shop",resource="containers"} 3');
    expect(text).toMatch(/^berth_rejections_total\{code="deployment_not_found"\} 1$/m);
    expect(text).toMatch(/^berth_store_commits_total\{result="ok"\} \d+$/m);
    expect(text).toMatch(/^berth_store_bytes\{kind="tenants"\} \d+$/m);
  });
});

it('the guide has a line for every name that is exposed', () => {
  const page = readFileSync(join(MONITORING, '../../docs/guide/monitoring.md'), 'utf8');
  const own = [...exposed].filter((name) => name.startsWith('berth_'));
  expect(own.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
});

describe('what is shipped', () => {
  it('is configuration and rules that Prometheus and Alertmanager take', () => {
    expect(tool('promtool', ['check', 'rules', RULES])).toMatchObject({ status: 0 });
    expect(tool('promtool', ['check', 'config', '--syntax-only', 'prometheus.yml'])).toMatchObject({
      status: 0,
    });
    expect(tool('amtool', ['check-config', 'alertmanager.yml'])).toMatchObject({ status: 0 });
  });

  it('has rules that fire and resolve as their tests say, and a test of each', () => {
    const { status, said } = tool('promtool', ['test', 'rules', 'berth-alerts.test.yml']);
    expect(status, said).toBe(0);
    const tests = readFileSync(join(MONITORING, 'berth-alerts.test.yml'), 'utf8');
    for (const { alert } of rules()) expect(tests).toContain(alert);
  });

  it('asks in rules and dashboard for nothing that is not exposed', () => {
    const queries = [...rules().map(({ alert, expr }) => ({ title: alert, query: expr })), ...panelQueries()];
    expect(queries.length).toBeGreaterThan(60);
    // Only where a certificate is configured.
    const known = new Set([...exposed, 'berth_tls_certificate_expiry_timestamp_seconds']);
    const unknown = queries.flatMap(({ title, query }) =>
      metricsIn(query)
        .filter((name) => !known.has(name))
        .map((name) => `${title}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it('is a dashboard whose every query can be read', () => {
    const file = join(folder, 'queries.yml');
    const asRules = panelQueries().map(({ query }, index) => ({ record: `query:${index}`, expr: query }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }));
    const { status, said } = tool('promtool', ['check', 'rules', file]);
    expect(status, said).toBe(0);
  });
});

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
}

function rules(): readonly AlertRule[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
  };
  return groups.flatMap((group) => group.rules);
}
