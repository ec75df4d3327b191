import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentBench, instance, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { attack } from '../support/attack.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const METADATA = '169.254.169.254';
const CREDENTIAL = 'credential of the machine';

let daemon: TestEngine;
let folder: string;
/** One agent for all of them. */
let bench: AgentBench;
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
  return ['sh', '-c', `${request} | ${busybox} nc -w 1 ${METADATA} ${port}; true`];
};

beforeAll(async () => {
  ensurePackages(['nftables']);
  daemon = await startEngine({ ownFilter: true });
  await buildTestImage(daemon, TEST_IMAGE);
  folder = mkdtempSync(join(tmpdir(), 'berth-metadata-'));
  writeFileSync(join(folder, 'index.html'), CREDENTIAL);
  onMachine('ip', 'addr', 'add', `${METADATA}/32`, 'dev', 'lo');
  for (const port of [80, 53]) {
    const httpd = inside('busybox', 'httpd', '-f', '-p', `${METADATA}:${port}`, '-h', folder);
    services.push(spawn(httpd[0], httpd[1], { stdio: 'ignore' }));
  }
  bench = await AgentBench.startInside(daemon, ['--host-ports=8000-8999']);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  for (const service of services) service.kill('SIGKILL');
  await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Whether a container of the node gets what is there. */
async function reached(port: number, { engine, plane } = bench): Promise<boolean> {
  plane.assign([instance('ins_1')]);
  const { containerId = '' } = await plane.untilPhase('ins_1', 'running');
  const session = await engine.exec(containerId, ask(port), { timeoutMs: 20_000 });
  let output = '';
  for await (const { bytes } of session.output) output += bytes.toString();
  return (await session.exitCode()) === 0 && output.includes(CREDENTIAL);
}

attack('deployer', "the machine's credentials from the metadata address of its cloud", async () => {
  await expect.poll(() => onMachine(...ask(80, 'busybox'))).toContain(CREDENTIAL);
  expect(await reached(80)).toBe(false);
  // Some clouds have their resolver there, and the machine itself goes on as before.
  expect(await reached(53)).toBe(true);
  expect(onMachine(...ask(80, 'busybox'))).toContain(CREDENTIAL);
  expect(bench.plane.hello?.problems).toBeUndefined();
});

attack(
  'a control plane that is not in its senses',
  'a container on a host port that the node does not allow',
  async () => {
    const { plane, engine } = bench;
    plane.assign([
      instance('ins_2', { ports: [{ container: 80, host: 22 }] }, { deployment: 'ssh' }),
      instance(
        'ins_3',
        { ports: [{ container: 80, host: 8080 }, { container: 81 }] },
        { deployment: 'page' },
      ),
    ]);
    await plane.untilPhase('ins_3', 'running');
    expect(await plane.untilPhase('ins_2', 'failed')).toMatchObject({ reason: 'host_port_not_allowed' });
    expect(plane.observations.get('ins_2')?.message).toContain('22');
    expect(plane.hello?.hostPorts).toEqual(['8000-8999']);
    expect((await engine.list({ all: true })).map(({ name }) => name)).not.toContain('ssh');
  },
);

describe.runIf(LONG_TIER)('rules against metadata addresses', () => {
  const rules = (): string => onMachine('nft', 'list', 'table', 'inet', 'berth-egress');

  it('come back with the next start at the latest when another program flushed them; twice is as once', async () => {
    const before = rules();
    onMachine('nft', 'delete', 'table', 'inet', 'berth-egress');
    await bench.agent.end('SIGKILL');
    bench.agent.launch();
    await expect.poll(rules, { timeout: 20_000 }).toBe(before);
  });

  it('go where that is allowed', async () => {
    await bench.agent.end('SIGKILL');
    await using allowing = await AgentBench.startInside(daemon, ['--metadata=allowed']);
    expect(await reached(80, allowing)).toBe(true);
  });
});
