import { afterAll, beforeAll, expect, it } from 'vitest';
import { BOOTSTRAP } from '../support/harness/caller.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';

let etcd: Etcd;
let planes: Planes;

beforeAll(async () => {
  etcd = await startEtcd();
  planes = await startPlanes(etcd, 2);
});
afterAll(async () => {
  await planes?.stop();
  await etcd?.stop();
});

async function read(path: string): Promise<string> {
  const headers = { authorization: `Bearer ${BOOTSTRAP}` };
  return (await fetch(`${planes.first.url}/api/v1/system/${path}`, { headers })).text();
}

it('one control plane gives the log and the report of another', async () => {
  // All are on one machine here, so that its name is ambiguous: the refusal names their ids.
  const refusal = await read('logs?member=control-plane');
  const ids = [...refusal.matchAll(/\((cp_[0-9a-f]+)\)/g)].map(([, id = '']) => id);
  expect([refusal.includes('query_parameter_invalid'), ids.length]).toEqual([true, 2]);
  for (const id of ids) {
    const report = await read(`debug?member=${id}`);
    const versions = /event: file\ndata: \{"name":"versions.json".*/.exec(report)?.[0] ?? '';
    expect([versions.includes(id), report.includes('event: end\n')]).toEqual([true, true]);
    const followed = await read(`logs?member=${id}&follow=true&for=1s&level=debug`);
    expect(followed).toContain('the time is over');
  }
});
