import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BOX, type Cluster, startCluster } from '../support/harness/cluster.ts';

const BERTH = join(import.meta.dirname, '../../bin/berth');
const folder = mkdtempSync(join(tmpdir(), 'berth-cli-jobs-'));
let cluster: Cluster;
let token: string;

beforeAll(async () => {
  cluster = await startCluster();
  const shop = await cluster.plane.tenant('shop');
  ({ token } = shop);
  await cluster.node('cli-1', shop);
});
afterAll(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true });
});

async function berth(...args: readonly string[]) {
  const child = spawn(BERTH, args, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      BERTH_CLI_SERVER: cluster.plane.url,
      BERTH_CLI_TOKEN: token,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

function manifest(name: string, script: string, more: Readonly<Record<string, unknown>> = {}): string {
  const path = join(folder, `${name}.json`);
  const body = { kind: 'Job', name, image: BOX, command: ['sh', '-c', script], ...more };
  writeFileSync(path, JSON.stringify(body));
  return path;
}

it('a job from a file: applied, waited for, read, run again, deleted', async () => {
  const file = manifest('report', 'echo done');
  const planned = await berth('apply', '-f', file, '--dry-run');
  expect([planned.code, planned.err]).toEqual([5, expect.stringContaining('+ job report')]);
  const applied = await berth('apply', '-f', file);
  expect([applied.code, applied.out]).toEqual([0, 'job/report created\n']);
  expect(await berth('apply', '-f', file)).toMatchObject({ code: 0, out: 'job/report unchanged\n' });
  const changed = await berth('apply', '-f', manifest('report', 'echo other'));
  expect([changed.code, changed.out]).toEqual([0, 'job/report updated\n']);
  expect((await berth('apply', '-f', manifest('report', 'echo done'))).out).toBe('job/report updated\n');

  expect(await berth('job', 'logs', 'report')).toMatchObject({ code: 0, out: 'done\n' });
  const run = await berth('job', 'run', 'report');
  expect([run.code, run.out]).toEqual([0, expect.stringMatching(/^run_\w+\n$/)]);
  expect((await berth('get', 'jobs')).out).toMatch(/report +Succeeded +once +Succeeded/);
  expect((await berth('describe', 'job', 'report')).out).toMatch(/manual +1 +0 +cli-1/);
  expect((await berth('job', 'get', 'report', '-o', 'json')).out).toContain('"trigger": "created"');
  expect(await berth('job', 'delete', 'report', '-y')).toMatchObject({
    code: 0,
    out: 'job/report deleted\n',
  });
  expect((await berth('job', 'list')).err).toContain('no jobs yet');
});

it('a job that fails ends with status 4 and says where to look; one under way is cancelled', async () => {
  const script = 'echo begins; echo "fatal: no such table" >&2; echo ends; exit 3';
  const failed = await berth('apply', '-f', manifest('broken', script));
  expect([failed.code, failed.err]).toEqual([4, expect.stringContaining('berth job logs broken')]);
  expect(failed.err).toMatch(/ended with exit code 3 after .*: `fatal: no such table`/);
  const { out } = await berth('describe', 'job', 'broken');
  expect(out).toMatch(/Failures\n.*run_\w+, attempt 1 on cli-1: .*`fatal: no such table`/);
  expect(out).toContain('next: berth job logs broken --previous');
  expect((await berth('apply', '-f', manifest('broken', 'echo well'))).code).toBe(0);
  expect((await berth('job', 'run', 'broken')).code).toBe(0);
  expect((await berth('job', 'logs', 'broken')).out).toBe('well\n');
  const previous = await berth('job', 'logs', 'broken', '--previous');
  expect(previous.out.trim().split('\n').toSorted()).toEqual(['begins', 'ends', 'fatal: no such table']);
  await berth('apply', '-f', manifest('long', 'sleep 60'), '--no-wait');
  const cancelled = await berth('job', 'cancel', 'long');
  expect([cancelled.code, cancelled.out]).toEqual([
    0,
    expect.stringMatching(/^job\/long run run_\w+ cancelled\n$/),
  ]);
  expect(await berth('delete', 'job', 'broken', 'long', '--yes')).toMatchObject({ code: 0 });
});
