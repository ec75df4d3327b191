import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/harness/free-port.ts';
import { makeCertificate } from '../support/harness/authority.ts';
import { eventually } from '../support/eventually.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';

/** The layout of the guide for three machines, as it is written there: settings, unit and load balancer, on ports of one machine. */

const ROOT = join(import.meta.dirname, '../..');
const GUIDE = readFileSync(join(ROOT, 'docs/guide/several-control-planes.md'), 'utf8');
const UNIT = readFileSync(join(ROOT, 'packaging/systemd/berth-server.service'), 'utf8');
const BALANCER = readFileSync(join(ROOT, 'packaging/haproxy/haproxy.cfg'), 'utf8');
const TOKEN = 'bootstrap-token-of-the-layout-0123456789';
const NAMES = ['cp1', 'cp2', 'cp3'] as const;
/** Seconds on a machine that is not busy. */
const START_MS = 90_000;
type Name = (typeof NAMES)[number];

const folder = mkdtempSync(join(tmpdir(), 'berth-layout-'));
const trusted = getCACertificates('default');
const running = new Map<string, ChildProcess>();
let etcd: Etcd;
let ports: Readonly<Record<Name | 'balancer', number>>;
let agent: LiveAgent | undefined;

/** What the guide and the file of the balancer call by its name on the network. */
function onThisMachine(text: string): string {
  return NAMES.reduce(
    (settings, name) => settings.replaceAll(`${name}.internal:7600`, `127.0.0.1:${ports[name]}`),
    text,
  )
    .replaceAll('https://berth.example.com', url('balancer'))
    .replaceAll(/\[https:\/\/etcd1[^\]]*\]/g, `[${etcd.endpoints.join(', ')}]`);
}

function url(name: Name | 'balancer'): string {
  return `https://127.0.0.1:${ports[name]}`;
}

beforeAll(async () => {
  ensurePackages(['openssl', 'haproxy', 'etcd-server']);
  const files = await makeCertificate(folder);
  setDefaultCACertificates([...trusted, files.ca.toString()]);
  etcd = await startEtcd({ members: 3, tls: files });
  const [cp1, cp2, cp3, balancer] = [await freePort(), await freePort(), await freePort(), await freePort()];
  ports = { cp1, cp2, cp3, balancer };
  const settings = /## berth\.yaml[\s\S]*?```yaml\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? '';
  expect(settings).toContain('advertiseUrl: https://cp1.internal:7600');
  for (const name of NAMES) {
    const etc = join(folder, name);
    mkdirSync(join(etc, 'keys'), { recursive: true, mode: 0o700 });
    const own = settings
      .replace('0.0.0.0:7600', `127.0.0.1:${ports[name]}`)
      .replace('advertiseUrl: https://cp1.internal', `advertiseUrl: https://${name}.internal`)
      .replace('nodeName: cp1', `nodeName: ${name}`);
    writeFileSync(join(etc, 'berth.yaml'), onThisMachine(own).replaceAll('/etc/berth/', `${etc}/`));
    for (const [from, to] of [
      [files.caFile, 'etcd-ca.crt'],
      [files.certFile, 'etcd.crt'],
      [files.keyFile, 'etcd.key'],
      [files.certFile, 'tls.crt'],
      [files.keyFile, 'tls.key'],
    ] as const)
      copyFileSync(from, join(etc, to));
  }
});

afterAll(async () => {
  await agent?.stop();
  for (const name of running.keys()) await stop(name, 'SIGTERM');
  await etcd?.stop();
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

function run(name: string, command: string, args: readonly string[], cwd: string): () => string {
  let said = '';
  const env = { PATH: process.env['PATH'] ?? '', HOME: cwd, BERTH_BOOTSTRAP_TOKEN: TOKEN };
  const child = spawn(command, args, { cwd, env });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  running.set(name, child);
  return () => said;
}

async function stop(name: string, signal: NodeJS.Signals): Promise<void> {
  const child = running.get(name);
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** As systemd would: the command of the unit, in its folder. */
async function systemctlStart(name: Name): Promise<void> {
  const [program, ...args] = (/^ExecStart=(.*)$/m.exec(UNIT)?.[1] ?? '').split(' ');
  const [directory] = /^WorkingDirectory=\/etc\/berth$/m.exec(UNIT) ?? [];
  expect([program, directory]).toEqual(['berth', 'WorkingDirectory=/etc/berth']);
  const own = args.map((arg) => (arg === '/var/lib/berth' ? join(folder, name, 'data') : arg));
  const said = run(name, join(ROOT, 'bin/berth'), own, join(folder, name));
  await eventually(
    `${name} is ready`,
    async () => {
      if (running.get(name)?.exitCode !== null) throw new Error(said());
      return status(name, '/readyz');
    },
    (seen) => seen === 200,
    START_MS,
  );
}

async function status(name: Name | 'balancer', path: string, init: RequestInit = {}): Promise<number> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return fetch(`${url(name)}${path}`, { headers, signal: AbortSignal.timeout(5000), ...init }).then(
    (answer) => answer.status,
    () => 0,
  );
}

async function post(path: string, body: unknown, token = TOKEN): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url('balancer')}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Record<string, string>;
}

async function shards(): Promise<readonly { readonly controlPlanes: number; readonly held: number }[]> {
  return Promise.all(
    NAMES.map(async (name) => {
      const health = (await (await fetch(`${url(name)}/healthz`)).json()) as {
        controllers: { shards: { controlPlanes: number; held: number } };
      };
      return health.controllers.shards;
    }),
  );
}

describe('the layout for three machines', () => {
  it('starts as the guide says: the first, then the others with its keys', async () => {
    await systemctlStart('cp1');
    for (const other of ['cp2', 'cp3'] as const) {
      for (const key of ['token.key', 'root.key'])
        copyFileSync(join(folder, 'cp1/keys', key), join(folder, other, 'keys', key));
      await systemctlStart(other);
    }
    await eventually(
      'they share the shards',
      shards,
      (all) =>
        all.every(({ controlPlanes, held }) => controlPlanes === 3 && held > 0) &&
        all.reduce((sum, { held }) => sum + held, 0) === 64,
    );
  });

  it('is one address behind the load balancer, for requests and for agents', async () => {
    const file = join(folder, 'haproxy.cfg');
    const settings = onThisMachine(BALANCER).replace('bind :443', `bind 127.0.0.1:${ports.balancer}`);
    writeFileSync(file, settings);
    const said = run('balancer', '/usr/sbin/haproxy', ['-db', '-f', file], folder);
    await eventually(
      'it answers',
      () => status('balancer', '/readyz'),
      (seen) => seen === 200,
    ).catch((error: unknown) => {
      throw new Error(said(), { cause: error });
    });
    await post('/api/v1/tenants', { slug: 'shop' });
    const admin = {
      authorization: `Bearer ${TOKEN}`,
      'x-tenant-id': 'shop',
      'content-type': 'application/json',
    };
    const made = await fetch(`${url('balancer')}/api/v1/join-tokens`, {
      method: 'POST',
      headers: admin,
      body: '{}',
    });
    const { token } = (await made.json()) as { token: string };
    const key = agentKey();
    const { nodeToken = '' } = await post('/api/v1/nodes', nodeFacts('n1', key), token);
    agent = new LiveAgent({ node: 'n1', key, token: nodeToken }, [url('balancer')]);
    await eventually(
      'the node is ready',
      async () =>
        (await (await fetch(`${url('balancer')}/api/v1/nodes/n1`, { headers: admin })).json()) as {
          status?: string;
        },
      (node) => node.status === 'ready',
    );
  });

  it('goes through a restart of all three behind one address: who tries again is served', async () => {
    let isOver = false;
    const counts = { served: 0, repeated: 0 };
    const failed: number[] = [];
    const client = async (): Promise<void> => {
      while (!isOver) {
        let seen = 0;
        for (let tries = 0; tries < 20 && seen !== 200; tries += 1) {
          seen = await status('balancer', '/api/v1/tenants');
          if (seen !== 200) {
            counts.repeated += 1;
            await new Promise((resolve) => setTimeout(resolve, 100));
          }
        }
        counts.served += 1;
        if (seen !== 200) failed.push(seen);
      }
    };
    const clients = [client(), client()];
    const sessionsBefore = agent?.sessions ?? 0;
    for (const name of NAMES) {
      await stop(name, 'SIGTERM');
      await systemctlStart(name);
      await eventually(
        'the shards are spread again',
        shards,
        (all) => all.reduce((sum, { held }) => sum + held, 0) === 64,
      );
    }
    isOver = true;
    await Promise.all(clients);
    process.stdout.write(
      `behind one address: ${counts.served} requests, ${counts.repeated} tries repeated\n`,
    );
    expect(failed).toEqual([]);
    expect(counts.served).toBeGreaterThan(20);
    // Its control plane was restarted at least once, and it came back through the same address.
    expect(agent?.sessions).toBeGreaterThan(sessionsBefore);
  });
});
