import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { percentile } from './support/one-node.ts';
import { BENCH_TOKEN, startServerProcess } from './support/server-process.ts';

/**
 * What a person waits for: `berth get deployments` as it is installed, from the start of the program to its end, with and without code that
 * Node compiled before; beside it the same in a checkout, which first looks whether its build is newer than its sources, a bare Node program that
 * asks for the same list and prints the names, and an empty one.   node bench/cli.ts [rounds] [deployments]
 */
const ROUNDS = Number(process.argv[2] ?? 30);
const DEPLOYMENTS = Number(process.argv[3] ?? 20);
const ROOT = join(import.meta.dirname, '..');
const CHECKOUT = join(ROOT, 'bin/berth');
const BARE_GET = `
require('node:http').get(process.env.BERTH_CLI_SERVER + '/api/v1/deployments',
  { headers: { authorization: 'Bearer ' + process.env.BERTH_CLI_TOKEN } }, (answer) => {
    let text = '';
    answer.setEncoding('utf8').on('data', (piece) => (text += piece)).on('end', () => {
      const names = JSON.parse(text).map(({ name }) => name + '\\n');
      process.stdout.write(names.join(''), () => process.exit());
    });
  });`;

const registry = await startRegistry();
const { reference: image } = await pushImage(registry, 'bench/web:1', {});
const server = await startServerProcess();
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));

/** A package has no sources, which is how `bin/berth` tells it from a checkout. */
function installed(): string {
  cpSync(CHECKOUT, join(folder, 'bin/berth'));
  for (const name of ['dist', 'node_modules', 'package.json'])
    symlinkSync(join(ROOT, name), join(folder, name));
  return join(folder, 'bin/berth');
}

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
  const get = (cache: string, program = berth): Promise<number> =>
    timed(program, words, DEPLOYMENTS + 1, cache);
  const berth = installed();
  await get(warmed);
  const warm: number[] = [];
  const cold: number[] = [];
  const checkout: number[] = [];
  const bare: number[] = [];
  const empty: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    warm.push(await get(warmed));
    bare.push(await timed(process.execPath, ['-e', BARE_GET], DEPLOYMENTS, warmed));
    cold.push(await get(join(folder, `cold-${round}`)));
    empty.push(await timed(process.execPath, ['-e', '0'], 0, warmed));
    checkout.push(await get(warmed, CHECKOUT));
  }
  const show = (times: readonly number[]): string =>
    `p50 ${percentile(times, 0.5).toFixed(0)} ms, least ${Math.min(...times).toFixed(0)} ms`;
  process.stdout.write(`berth ${words.join(' ')}, ${DEPLOYMENTS} of them: ${show(warm)}\n`);
  process.stdout.write(`without compiled code from before: ${show(cold)}\n`);
  process.stdout.write(`in a checkout: ${show(checkout)}\n`);
  process.stdout.write(`a bare Node program that asks for the same list: ${show(bare)}\n`);
  process.stdout.write(`an empty Node program: ${show(empty)}\n`);
  const over = percentile(warm, 0.5) / percentile(bare, 0.5);
  process.stdout.write(`of the bare program's time Berth takes ${over.toFixed(2)}\n`);
} finally {
  await server.stop();
  await registry.stop();
  rmSync(folder, { recursive: true, force: true });
}
