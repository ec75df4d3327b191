import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureWatchdog } from '../../src/agent/volumes/watchdog-process.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { EngineTransport } from '../../src/agent/engine/transport.ts';
import { buildTestImage, startEngine } from '../support/harness/engine.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const BERTH = join(import.meta.dirname, '../../bin/berth');
/** On a machine that does nothing else a second start takes some 5 s; others may test at the same time. */
const START_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'berth-up-'));
const data = join(folder, 'data');
const environment = { PATH: process.env['PATH'] ?? '', HOME: folder, NO_COLOR: '1' };

interface Run {
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly url: string;
  /** Of the ingress. */
  readonly byHost: string;
  readonly tookMs: number;
}

async function start(...engine: readonly string[]): Promise<Run> {
  const began = performance.now();
  const child = spawn(
    BERTH,
    ['up', '--quickstart', ...(engine.length === 0 ? ['--own-engine'] : engine), '--data-dir', data],
    {
      cwd: folder,
      env: environment,
    },
  );
  let text = '';
  const take = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  for (const deadline = Date.now() + START_MS; !text.includes('Ctrl-C stops everything'); await pause(50)) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`berth up did not get ready:\n${text}\n${logs()}`);
  }
  const url = /Sample +(http:\S+)/.exec(text)?.[1] ?? '';
  const byHost = /By its host +(http:\S+)/.exec(text)?.[1] ?? '';
  return { child, said: () => text, url, byHost, tookMs: performance.now() - began };
}

function logs(): string {
  const place = join(data, 'logs');
  if (!existsSync(place)) return '';
  return readdirSync(place)
    .map((name) => `── ${name}\n${readFileSync(join(place, name), 'utf8').slice(-2000)}`)
    .join('\n');
}

async function interrupt({ child }: Run): Promise<number | null> {
  child.kill('SIGINT');
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Programs that name the data folder in their arguments: server, agent, registry, engine, and what the engine started. */
function processes(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(`${data}/`) || line.includes(`${data} `));
}

function network(): string {
  return execFileSync('/usr/sbin/ip', ['-o', 'link'], { encoding: 'utf8' });
}

/** Of the run that is up. */
function pidsOf(...names: readonly string[]): readonly number[] {
  const { children } = JSON.parse(readFileSync(join(data, 'up.json'), 'utf8')) as {
    children: readonly { readonly name: string; readonly pid: number }[];
  };
  return children.filter(({ name }) => names.includes(name)).map(({ pid }) => pid);
}

async function berth(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const child = spawn(BERTH, args, { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, out };
}

let run: Run | undefined;

beforeAll(() =>
  ensurePackages(['docker.io', 'docker-registry', 'busybox-static', 'iproute2', 'iptables', 'caddy', 'curl']),
);
beforeAll(() => ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables']));

afterAll(async () => {
  if (run !== undefined && run.child.exitCode === null) await interrupt(run);
  await berth('up', '--clean', '--data-dir', data);
  rmSync(folder, { recursive: true, force: true });
});

async function page(url: string): Promise<string> {
  // Not every resolver knows such names; browsers and curl do.
  if (url.includes('.localhost:'))
    return execFileSync('curl', ['-sSf', '-m', '5', url], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  return (await fetch(url, { signal: AbortSignal.timeout(5000) })).text();
}

describe('the quickstart', () => {
  let firstMs = 0;
  let bridge = '';

  it('goes from nothing to a page that answers', async () => {
    run = await start();
    firstMs = run.tookMs;
    expect(await page(run.url)).toContain('It works');
    for (const step of [
      'Container engine',
      'Local registry',
      'Sample image',
      'Control plane',
      'This machine as a node',
      'hello healthy',
      'Ask it for its page',
    ]) {
      expect(run.said()).toContain(`✔ ${step}`);
    }
    expect(run.said()).toContain(join(data, 'admin-token'));
    expect(run.byHost).toMatch(/^http:\/\/hello\.localhost:\d+\/$/);
    expect(await page(run.byHost)).toContain('It works');
    bridge = /network (berth[0-9a-f]{8})/.exec(run.said())?.[1] ?? '';
    expect(network()).toContain(bridge);
  });

  it('lets the command line work at once, against a real node', async () => {
    expect((await berth('get', 'deployments')).out).toMatch(/hello +Running +1\/1/);
    expect((await berth('get', 'nodes')).out).toMatch(/ready/);
    expect((await berth('exec', 'hello', '--', 'cat', '/www/index.html')).out).toContain('It works');
    expect((await berth('exec', 'hello', '--', 'sh', '-c', 'exit 7')).code).toBe(7);
    expect((await berth('logs', 'hello', '--tail', '5')).out).toContain('response:200');
    expect((await berth('explain', 'hello')).out).toContain('host port');
    expect(await berth('doctor')).toMatchObject({
      code: 0,
      out: expect.stringContaining('nothing is wrong'),
    });
    expect((await berth('events', '-o', 'name')).code).toBe(0);
  });

  it('stops, starts and rolls back what runs, and waits for it', async () => {
    const url = run?.url ?? '';
    expect((await berth('scale', 'hello', '0', '--timeout', '60s')).code).toBe(0);
    await expect(page(url)).rejects.toThrow();
    expect((await berth('rollout', 'undo', 'hello', '--timeout', '60s')).code).toBe(0);
    expect(await page(url)).toContain('It works');
  });

  it('starts a server and an agent again that were killed, while containers run on', async () => {
    const before = pidsOf('server', 'agent');
    const containers = (await berth('get', 'instances', '-o', 'json')).out;
    for (const pid of before) process.kill(pid, 'SIGKILL');
    const again = () => pidsOf('server', 'agent').filter((pid) => !before.includes(pid));
    await eventually(again, (pids) => pids.length === 2);
    await eventually(
      () => berth('get', 'nodes'),
      ({ out }) => out.includes('ready'),
    );
    expect(run?.said()).toMatch(/server ended on its own \(SIGKILL\) and is started again now/);
    expect(await page(run?.url ?? '')).toContain('It works');
    const ids = (text: string) => text.match(/"containerId": "[0-9a-f]+"/g);
    expect(ids((await berth('get', 'instances', '-o', 'json')).out)).toEqual(ids(containers));
  });

  it('refuses to start twice on one folder, and to clean a running one', async () => {
    expect((await berth('up', '--data-dir', data)).code).toBe(1);
    expect((await berth('up', '--clean', '--data-dir', data)).code).toBe(1);
    expect(await page(run?.url ?? '')).toContain('It works');
  });

  it('stops everything it started on Ctrl-C', async () => {
    if (run === undefined) throw new Error('not started');
    // As it is once a volume of this node has a copy elsewhere.
    mkdirSync(join(data, 'agent', 'volumes'), { recursive: true });
    await ensureWatchdog(join(data, 'agent'));
    expect(processes().join('\n')).toContain('watchdog');
    expect(await interrupt(run)).toBe(0);
    expect(processes()).toEqual([]);
    expect(network()).not.toContain(bridge);
    await expect(page(run.url)).rejects.toThrow();
    await expect(page(run.byHost)).rejects.toThrow();
  });

  it('reuses its state on the second start, and is reached from other machines by TLS', async () => {
    const before = run;
    run = await start('--own-engine', '--listen', '0.0.0.0', '--label', 'disk=ssd');
    expect((await berth('get', 'nodes', '-o', 'json')).out).toContain('"disk": "ssd"');
    const [, url, pin] =
      /berth agent --server (https:\S+) --join-file - --ca-digest (sha256:[0-9a-f]{64})/.exec(run.said()) ?? [
        '',
        '',
        '',
      ];
    expect(run.said()).toContain(`tls.crt, ${pin}`);
    const readyz = ['--cacert', join(data, 'tls.crt'), `${url}/readyz`];
    expect(execFileSync('curl', ['-sS', '-m', '5', ...readyz], { encoding: 'utf8' })).toContain(
      '"ready":true',
    );
    expect(run).toMatchObject({ url: before?.url, byHost: before?.byHost });
    for (const url of [run.url, run.byHost]) expect(await page(url)).toContain('It works');
    expect(run.said()).toContain('there already');
    expect(
      (await berth('archive', 'list', 'hello', '-o', 'name')).out.trim().split('\n').length,
    ).toBeGreaterThanOrEqual(3);
    process.stdout.write(`first start ${Math.round(firstMs)} ms, second ${Math.round(run.tookMs)} ms\n`);
  });

  it('cleans up after a run that was killed, and goes on at the same address', async () => {
    const before = run;
    run?.child.kill('SIGKILL');
    if (run !== undefined && run.child.exitCode === null && run.child.signalCode === null)
      await once(run.child, 'exit');
    run = await start();
    expect(run.said()).toMatch(/Stopped \d programs that an earlier run left behind/);
    expect(run).toMatchObject({ url: before?.url, byHost: before?.byHost });
    for (const url of [run.url, run.byHost]) expect(await page(url)).toContain('It works');
    await interrupt(run);
  });

  it('leaves nothing after --clean', async () => {
    expect(await berth('up', '--clean', '--data-dir', data)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`removed ${data} and context local`),
    });
    expect(existsSync(data)).toBe(false);
    expect(processes()).toEqual([]);
    expect(network()).not.toContain(bridge);
    expect((await berth('context', 'list')).out).toBe('');
  });
});

/** In every run by `packaging`, with the program as it is installed. */
describe.runIf(LONG_TIER)('the quickstart beside an engine that runs already', () => {
  it('uses it, and leaves nothing of its own and everything of others in it', async () => {
    // In the namespace of the tests: the registry on loopback and the published port must be reachable.
    await using engine = await startEngine({ namespace: false, ownFilter: true });
    await buildTestImage(engine, 'berth.test/other:1');
    const transport = new EngineTransport(engine.socketPath);
    const path = '/v1.41/containers/create?name=somebody-elses';
    await transport.call({ method: 'POST', path, json: { Image: 'berth.test/other:1' } });
    const names = async (): Promise<string> =>
      JSON.stringify((await transport.call({ method: 'GET', path: '/v1.41/containers/json?all=true' })).body);

    run = await start('--engine', engine.socketPath);
    expect(run.said()).toContain(`at ${engine.socketPath}, which runs already`);
    expect(run.said()).not.toContain('Install');
    expect(await page(run.url)).toContain('It works');
    expect(await names()).toContain('"/hello"');
    expect(await interrupt(run)).toBe(0);
    expect(await names()).toContain('"/somebody-elses"');
    expect(await names()).not.toContain('"/hello"');
    expect(processes()).toEqual([]);
    await berth('up', '--clean', '--data-dir', data);
  });
});
