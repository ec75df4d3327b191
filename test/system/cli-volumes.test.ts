import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow } from '../support/harness/node-flow.ts';
import { MIB, type VolumeAgent, volumeAgent, volumeOnce, VOLUMES } from '../support/agents/volume-agent.ts';

const BERTH = join(import.meta.dirname, '../../bin/berth');
const folder = mkdtempSync(join(tmpdir(), 'berth-cli-volumes-'));
let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let one: VolumeAgent;
let two: VolumeAgent;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  one = await volumeAgent(flow, shop, 'one');
  two = await volumeAgent(flow, shop, 'two');
  for (const agent of [one, two]) agent.beatEvery(200);
});

afterAll(async () => {
  for (const agent of [one, two]) agent.stop();
  flow.close();
  await plane.close();
  rmSync(folder, { recursive: true });
});

async function berth(...args: readonly string[]) {
  const child = spawn(BERTH, args, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      BERTH_CLI_SERVER: plane.url,
      BERTH_CLI_TOKEN: shop.token,
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

function file(text: string): string {
  const path = join(folder, 'volume.yaml');
  writeFileSync(path, text);
  return path;
}

/** As a node does that is told to: its bytes are gone, and the control plane asks for them no more. */
async function forget(agent: VolumeAgent): Promise<void> {
  const before = agent.generation;
  const { generation } = await agent.assignment(
    (sent) => sent.generation > before && sent.volumes?.[0]?.role === 'gone',
  );
  agent.volumes = [];
  await agent.assignment((sent) => sent.generation > generation && (sent.volumes ?? []).length === 0);
}

/** What the two nodes say of a volume with its primary on `one` and a copy on `two`. */
function keep(volumeId: string, usedBytes: number): void {
  const epoch = 1;
  const copies = [{ nodeId: 'two', state: 'live', sequence: 3, ageMs: 900 }] as const;
  one.volumes = [{ volumeId, role: 'primary', epoch, state: 'ready', usedBytes, copies }];
  const copy = { epoch, sequence: 3, takenAt: '2026-01-01T00:00:00.000Z' };
  two.volumes = [{ volumeId, role: 'replica', epoch, state: 'ready', copy }];
}

it('a volume: created and waited for, shown in every form, copied, kept while it is mounted, deleted', async () => {
  expect((await berth('volume', 'list')).err).toContain('no volumes yet');
  const words = 'volume create pg-data --class replicated --size 1Gi --replicas 1 --node one';
  const creating = berth(...words.split(' '));
  const { volumes = [] } = await one.assignment((sent) => sent.volumes?.[0]?.copiesTo?.length === 1);
  const id = volumes[0]?.id ?? '';
  await two.assignment((sent) => sent.volumes?.[0]?.id === id);
  keep(id, 100 * MIB);
  const created = await creating;
  expect([created.code, created.out]).toEqual([0, `volume/pg-data created (${id})\n`]);
  expect(created.err).toContain('pg-data: ready, on one');
  await volumeOnce(shop.call, id, ({ replicas }) => replicas[0]?.state === 'live');

  expect((await berth('get', 'volumes')).out).toMatch(
    /pg-data +replicated +Ready +1 GiB +100 MiB \(10 %\) +one +1\/1 live +vol_/,
  );
  expect((await berth('volume', 'list', '-o', 'name')).out).toBe('volume/pg-data\n');
  expect((await berth('volume', 'get', id, '-o', 'yaml')).out).toContain('primaryNodeId: one\n');
  expect(JSON.parse((await berth('get', 'volume', 'pg-data', '-o', 'json')).out)).toMatchObject({ id });
  expect((await berth('volume', 'replicas', 'pg-data')).out).toMatch(/two +live +0\.9 s/);
  expect((await berth('volume', 'snapshots', 'pg-data')).err).toBe('pg-data has no snapshots\n');

  await deploy(shop.call, 'pg', { volumes: [{ volumeId: id, mountPath: '/data' }] });
  const described = await berth('describe', 'volume', 'pg-data');
  expect(described.out).toMatch(/size +1 GiB, used 100 MiB \(10 %\), measured/);
  expect(described.out).toMatch(/primary +one, epoch 1/);
  expect(described.out).toMatch(/Copies\n.*\n +two +live +0\.9 s/);
  expect(described.out).toContain('Used by\n  deployment/pg\n');
  expect(described.out).toContain('volume.created');
  expect((await berth('get', 'volumes', '-o', 'wide')).out).toContain('deployment/pg');
  const inUse = await berth('volume', 'delete', 'pg-data', '-y');
  expect([inUse.code, inUse.err]).toEqual([1, expect.stringContaining('volume_in_use')]);
  await shop.call('DELETE', '/api/v1/deployments/pg');

  const taken = await berth('volume', 'add-replica', 'pg-data', 'two');
  expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('volume_replica_conflict')]);
  const less = await berth('volume', 'remove-replica', 'pg-data', 'two', '-y');
  expect(less).toMatchObject({ code: 0, out: 'the copy of volume/pg-data on two is removed\n' });
  await volumeOnce(shop.call, id, ({ wantedReplicas }) => wantedReplicas === 0);
  await forget(two);
  const again = await berth('volume', 'add-replica', 'pg-data', 'two');
  expect(again).toMatchObject({ code: 0, out: 'volume/pg-data is copied to two\n' });

  expect(await berth('delete', 'volume', 'pg-data', '-y')).toMatchObject({
    code: 0,
    out: 'volume/pg-data deleting\n',
  });
  await Promise.all([forget(one), forget(two)]);
  await eventually(
    () => shop.call('GET', VOLUMES),
    ({ body }) => body.length === 0,
  );
});

it('a volume from a file: planned, created, left alone, not changed; status 4 while no node has made it', async () => {
  const text =
    'kind: Volume\nname: files\nclass: replicated\ntype: volume\nsizeBytes: 134217728\nnodeId: one\n';
  const planned = await berth('apply', '-f', file(text), '--dry-run');
  expect([planned.code, planned.err]).toEqual([5, expect.stringContaining('+ volume files (to create)')]);
  expect((await berth('get', 'volumes')).out).toBe('');
  const late = await berth('apply', '-f', file(text), '--timeout', '1s');
  expect([late.code, late.err]).toEqual([4, expect.stringContaining('berth describe volume files')]);
  const id = /^volume\/files created \((vol_\w+)\)\n$/.exec(late.out)?.[1] ?? late.out;
  await one.assignment((sent) => sent.volumes?.[0]?.id === id);
  one.volumes = [{ volumeId: id, role: 'primary', epoch: 1, state: 'ready', usedBytes: 125 * MIB }];
  expect(await berth('apply', '-f', file(text))).toMatchObject({ code: 0, out: 'volume/files unchanged\n' });
  const changed = await berth('apply', '-f', file(`${text}replicas: 2\n`));
  expect([changed.code, changed.err]).toEqual([1, expect.stringContaining('differs in replicas')]);
  const small = await berth('apply', '-f', file(text.replace('files', 'small').replace('134217728', '1')));
  expect([small.code, small.err]).toEqual([1, expect.stringContaining('volume_size_invalid')]);
});

it('recommendations: listed by urgency, filtered, and done only when somebody says so', async () => {
  const all = await berth('recommendation', 'list');
  expect(all.out).toMatch(
    /^ID +PRIORITY +TYPE +DOES +REASON\n\S+ +critical +capacity +resize to 256 MiB +volume files/,
  );
  expect(all.out).toMatch(/high +replication +keep 1 copy/);
  const only = await berth(
    'recommendation',
    'list',
    '--priority',
    'critical',
    '--type',
    'capacity',
    '-o',
    'name',
  );
  expect(only.out).toMatch(/^recommendation\/rec_\w+\n$/);
  expect((await berth('get', 'recommendations', '-o', 'name')).out).toContain(only.out);
  expect((await berth('recommendation', 'list', '--type', 'cleanup')).err).toContain(
    'nothing is recommended',
  );
  const id = only.out.trim().replace('recommendation/', '');
  const unsaid = await berth('recommendation', 'apply', id);
  expect([unsaid.code, unsaid.err]).toEqual([
    2,
    expect.stringContaining('resize to 256 MiB; nothing was changed'),
  ]);
  const less = await berth('recommendation', 'apply', id, '--size', '1Mi', '--yes');
  expect([less.code, less.err]).toEqual([
    1,
    expect.stringContaining('dvm_recommendation_apply_invalid_spec'),
  ]);
  const done = await berth('recommendation', 'apply', id, '--yes');
  expect([done.code, done.out]).toEqual([
    0,
    `recommendation/${id} applied: volume/files is to have 256 MiB, 0 copies\n`,
  ]);
  const gone = await berth('recommendation', 'apply', id);
  expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('dvm_recommendation_not_found')]);
});
