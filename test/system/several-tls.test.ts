import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caDigestOf } from '../../src/server/api/join-address.ts';
import { globalKey } from '../../src/server/store/keys.ts';
import { type ControlPlaneRecord, decodeRecord } from '../../src/server/store/records.ts';
import { type AgentProcess, startAgent } from '../support/harness/agent-process.ts';
import { makeCertificate, signCertificate } from '../support/harness/authority.ts';
import { eventually } from '../support/eventually.ts';
import { BOX } from '../support/harness/cluster.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import type { PlaneProcess, Tenant } from '../support/harness/plane-process.ts';
import { healthOf, type Planes, startPlanes } from '../support/harness/planes.ts';

/** Three control planes that serve TLS, two of them on threads, each with a certificate of its own of one authority; agent and command line as well. */

const run = promisify(execFile);
const BERTH = join(import.meta.dirname, '../../bin/berth');
const trusted = getCACertificates('default');

const folder = mkdtempSync(join(tmpdir(), 'berth-several-tls-'));
let etcd: Etcd;
let engine: TestEngine;
let planes: Planes;
let agent: AgentProcess;
let shop: Tenant & { readonly token: string };
let instance: string;

/** The chain as it is served, the authority last: agents pin that one. */
async function renew(index: number): Promise<void> {
  await signCertificate(folder, `plane${index}`);
  const chain =
    readFileSync(join(folder, `plane${index}.crt`), 'utf8') + readFileSync(join(folder, 'ca.crt'), 'utf8');
  writeFileSync(join(folder, `served${index}.crt`), chain);
  copyFileSync(join(folder, `plane${index}.key`), join(folder, `served${index}.key`));
}

beforeAll(async () => {
  ensurePackages(['openssl']);
  const { ca } = await makeCertificate(folder);
  setDefaultCACertificates([...trusted, ca.toString()]);
  for (const index of [0, 1, 2]) await renew(index);
  [etcd, engine] = await Promise.all([startEtcd(), startEngine()]);
  const starting = startPlanes(etcd, 3, { BERTH_TIMERS_CONTROL_PLANE_LEASE: '3s' }, (index) => ({
    BERTH_TLS_CERT: join(folder, `served${index}.crt`),
    BERTH_TLS_KEY: join(folder, `served${index}.key`),
    // Two of them on threads: each is reached by the other, and by the one without.
    BERTH_TLS_THREADS: index === 2 ? '0' : '2',
  }));
  [planes] = await Promise.all([starting, buildTestImage(engine, BOX, {})]);
  shop = await planes.first.tenant('shop');
  const { body } = await shop.call('POST', '/api/v1/join-tokens', {});
  agent = await startAgent({
    server: planes.addresses.join(','),
    name: 'n1',
    socketPath: engine.socketPath,
    joinToken: body.token as string,
    caDigest: caDigestOf(ca.toString()) ?? '',
  });
  const spec = { kind: 'Deployment', name: 'web', image: BOX, command: ['sleep', '3600'] };
  expect((await shop.call('POST', '/api/v1/deployments', spec)).status).toBe(201);
  const running = await eventually(
    'it runs',
    async () =>
      (await shop.call('GET', '/api/v1/deployments/web/instances')).body as { id: string; state: string }[],
    ([first]) => first?.state === 'running',
  );
  instance = running[0]?.id ?? '';
});

afterAll(async () => {
  await agent?.dispose();
  await planes?.stop();
  await engine?.stop();
  await etcd?.stop();
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

async function says(plane: PlaneProcess, word: string): Promise<unknown> {
  const body = { command: ['echo', word], instance };
  const answer = await plane.as(shop.token)('POST', '/api/v1/deployments/web/exec', body);
  return [answer.status, answer.body.stdout ?? answer.body];
}

async function recordOf(plane: PlaneProcess): Promise<ControlPlaneRecord> {
  const key = globalKey('control-planes', (await healthOf(plane))?.id ?? '');
  return decodeRecord<ControlPlaneRecord>(key, (await planes.kv.get(key))?.value ?? '');
}

/** Where the agent is connected. */
async function holder(): Promise<PlaneProcess> {
  const found = await eventually(
    'the agent is connected',
    async () => {
      const counts = await Promise.all(
        planes.members.map(async ({ url }) => {
          const text = await (await fetch(`${url}/metrics`)).text();
          return Number(/^berth_agent_sessions (\d+)/m.exec(text)?.[1] ?? 0);
        }),
      );
      return planes.members[counts.indexOf(1)];
    },
    (plane) => plane !== undefined,
  );
  if (found === undefined) throw new Error('not connected');
  return found;
}

describe('three control planes with TLS', () => {
  it('write down where they are and which certificate they show', async () => {
    const records = await Promise.all(planes.members.map(recordOf));
    for (const { url, certificate, proofForm } of records) {
      expect(url).toMatch(/^https:/);
      expect(certificate).toMatch(/^[0-9a-f]{64}$/);
      expect(proofForm).toBe(2);
    }
    expect(new Set(records.map(({ certificate }) => certificate)).size).toBe(3);
  });

  it('reach the agent through each other', async () => {
    for (const plane of planes.members) expect(await says(plane, 'hello')).toEqual([200, 'hello\n']);
  });

  it('serve the command line, which trusts their authority', async () => {
    for (const [index, { url }] of planes.members.entries()) {
      const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
      const context = `plane${index}`;
      const login = run(
        BERTH,
        ['login', '--server', url, '--name', context, '--ca-file', join(folder, 'ca.crt')],
        { env },
      );
      login.child.stdin?.end(shop.token);
      await login;
      const { stdout } = await run(BERTH, ['exec', 'web', '--context', context, '--', 'echo', context], {
        env,
      });
      expect(stdout).toBe(`${context}\n`);
    }
  });

  it('believe a certificate that was renewed while they run, and no other', async () => {
    const direct = await holder();
    const index = planes.members.indexOf(direct);
    const before = await recordOf(direct);
    await renew(index);
    await eventually(
      'the new one is written down',
      () => recordOf(direct),
      ({ certificate }) => certificate !== before.certificate,
    );
    for (const plane of planes.members) expect(await says(plane, 'renewed')).toEqual([200, 'renewed\n']);

    // Shown, but not written down: as if somebody else answered at the address.
    const key = globalKey('control-planes', (await healthOf(direct))?.id ?? '');
    const stored = await planes.kv.get(key);
    if (stored === undefined) throw new Error('no record');
    const forged = { ...(await recordOf(direct)), certificate: 'f'.repeat(64) };
    await planes.kv.commit({
      puts: [{ key, value: JSON.stringify({ ...JSON.parse(stored.value), ...forged }) }],
    });
    const [other] = planes.others(direct);
    if (other === undefined) throw new Error('too few');
    const answer = await other.as(shop.token)('POST', '/api/v1/deployments/web/exec', {
      command: ['true'],
      instance,
    });
    expect([answer.status, answer.body.code]).toEqual([503, 'exec_unavailable']);
    expect(answer.body.why).toContain('another certificate');
    expect(await says(direct, 'direct')).toEqual([200, 'direct\n']);
    // As it was, and with the lease that it hangs on.
    await direct.end('SIGTERM');
    await planes.kv.commit({ deletes: [key] });
    await direct.start();
    await holder();
    for (const plane of planes.members) expect(await says(plane, 'again')).toEqual([200, 'again\n']);
  });
});
