import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { AgentBench, instance, TEST_IMAGE } from '../support/agent.ts';
import { attack } from '../support/attack.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/engine.ts';
import { ensurePackages } from '../support/packages.ts';

const METADATA = '169.254.169.254';
const CREDENTIAL = 'credential of the machine';

let daemon: TestEngine;
let folder: string;
const services: ChildProcess[] = [];

/** The words to run something in the network of the engine's machine. */
function inside(...argv: string[]): readonly [string, readonly string[]] {
  const words = daemon.namespace?.command(argv);
  if (words === undefined) throw new Error('the engine has no network namespace of its own');
  return words;
}

function onMachine(...argv: string[]): string {
  const [command, args] = inside(...argv);
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Without a resolver, which a static busybox cannot do everywhere. */
const ask = (port: number, busybox = ''): string[] => {
  const request = 'printf "GET /index.html HTTP/1.0\\r\\n\\r\\n"';
  return ['sh', '-c', `${request} | ${busybox} nc -w 3 ${METADATA} ${port}; true`];
};

beforeAll(async () => {
  ensurePackages(['nftables']);
  daemon = await startEngine();
  await buildTestImage(daemon, TEST_IMAGE);
  folder = mkdtempSync(join(tmpdir(), 'berth-metadata-'));
  writeFileSync(join(folder, 'index.html'), CREDENTIAL);
  onMachine('ip', 'addr', 'add', `${METADATA}/32`, 'dev', 'lo');
  for (const port of [80, 53]) {
    const httpd = inside('busybox', 'httpd', '-f', '-p', `${METADATA}:${port}`, '-h', folder);
    services.push(spawn(httpd[0], httpd[1], { stdio: 'ignore' }));
  }
});
afterAll(async () => {
  for (const service of services) service.kill('SIGKILL');
  await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Whether a container of the node gets what is there. */
async function reached({ engine, plane }: AgentBench, port: number): Promise<boolean> {
  plane.assign([instance('ins_1')]);
  const { containerId = '' } = await plane.untilPhase('ins_1', 'running');
  const session = await engine.exec(containerId, ask(port), { timeoutMs: 20_000 });
  let output = '';
  for await (const { bytes } of session.output) output += bytes.toString();
  return (await session.exitCode()) === 0 && output.includes(CREDENTIAL);
}

attack('deployer', "the machine's credentials from the metadata address of its cloud", async () => {
  {
    await expect.poll(() => onMachine(...ask(80, 'busybox'))).toContain(CREDENTIAL);
    await using bench = await AgentBench.startInside(daemon);
    expect(await reached(bench, 80)).toBe(false);
    // Some clouds have their resolver there, and the machine itself goes on as before.
    expect(await reached(bench, 53)).toBe(true);
    expect(onMachine(...ask(80, 'busybox'))).toContain(CREDENTIAL);
    expect(bench.plane.hello?.problems).toBeUndefined();
    // Flushed by another program, the rules come back with the next start at the latest; twice is as once.
    const rules = onMachine('nft', 'list', 'table', 'inet', 'berth-egress');
    onMachine('nft', 'delete', 'table', 'inet', 'berth-egress');
    await bench.agent.end('SIGKILL');
    bench.agent.start();
    const again = (): string => onMachine('nft', 'list', 'table', 'inet', 'berth-egress');
    await expect.poll(again, { timeout: 20_000 }).toBe(rules);
  }
  await using allowing = await AgentBench.startInside(daemon, ['--metadata=allowed']);
  expect(await reached(allowing, 80)).toBe(true);
});

attack(
  'a control plane that is not in its senses',
  'a container on a host port that the node does not allow',
  async () => {
    await using bench = await AgentBench.startInside(daemon, ['--host-ports=8000-8999']);
    const { plane } = bench;
    plane.assign([
      instance('ins_1', { ports: [{ container: 80, host: 22 }] }, { deployment: 'ssh' }),
      instance('ins_2', { ports: [{ container: 80, host: 8080 }, { container: 81 }] }),
    ]);
    await plane.untilPhase('ins_2', 'running');
    expect(await plane.untilPhase('ins_1', 'failed')).toMatchObject({ reason: 'host_port_not_allowed' });
    expect(plane.observations.get('ins_1')?.message).toContain('22');
    expect(plane.hello?.hostPorts).toEqual(['8000-8999']);
    expect((await bench.engine.list({ all: true })).map(({ name }) => name)).toEqual(['web']);
  },
);
