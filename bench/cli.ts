import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { percentile } from './support/one-node.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * What a person waits for: `berth get deployments`, from the start of the program to its end, with and without code that Node compiled
 * before; beside it an empty Node program.   node bench/cli.ts [rounds] [deployments]
 */
const ROUNDS = Number(process.argv[2] ?? 30);
const DEPLOYMENTS = Number(process.argv[3] ?? 20);
const BERTH = join(import.meta.dirname, '../bin/berth');

const registry = await startRegistry();
const { reference: image } = await pushImage(registry, 'bench/web:1', {});
const server = await startServerProcess();
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));

async function timed(
  program: string,
  words: readonly string[],
  lines: number,
  cache: string,
): Promise<number> {
  const begun = performance.now();
  const child = spawn(program, words, {
    env: {
      ...process.env,
      BERTH_CLI_SERVER: server.url,
      BERTH_CLI_TOKEN: BENCH_TOKEN,
      NODE_COMPILE_CACHE: cache,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  const ms = performance.now() - begun;
  const seen = said.split('\n').filter((line) => line !== '').length;
  if (status !== 0 || seen !== lines) throw new Error(`${words.join(' ')} ended with ${status}: ${said}`);
  return ms;
}

try {
  for (let n = 0; n < DEPLOYMENTS; n += 1) {
    const { status, body } = await server.call('POST', '/api/v1/deployments', { name: `web-${n}`, image });
    if (status !== 201) throw new Error(JSON.stringify(body));
  }
  const words = ['get', 'deployments'];
  const warmed = join(folder, 'warm');
  // The heading is a line too.
  const get = (cache: string): Promise<number> => timed(BERTH, words, DEPLOYMENTS + 1, cache);
  await get(warmed);
  const [warm, cold, bare]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    warm.push(await get(warmed));
    bare.push(await timed(process.execPath, ['-e', '0'], 0, warmed));
    cold.push(await get(join(folder, `cold-${round}`)));
  }
  const show = (times: readonly number[]): string =>
    `p50 ${percentile(times, 0.5).toFixed(0)} ms, least ${Math.min(...times).toFixed(0)} ms`;
  process.stdout.write(`berth ${words.join(' ')}, ${DEPLOYMENTS} of them: ${show(warm)}\n`);
  process.stdout.write(`without compiled code from before: ${show(cold)}\n`);
  process.stdout.write(`an empty Node program: ${show(bare)}\n`);
} finally {
  await server.stop();
  await registry.stop();
  rmSync(folder, { recursive: true, force: true });
}
