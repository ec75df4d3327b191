import { afterEach, beforeEach, expect, it } from 'vitest';
import { StoreFormat } from '../store/format.ts';
import { globalKey } from '../store/keys.ts';
import type { Kv } from '../store/kv.ts';
import { createMemoryKv } from '../store/memory.ts';
import { ReadBarrier } from '../store/read-barrier.ts';
import { encodeRecord } from '../store/records.ts';
import { Store } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { SoleMember } from './sole-member.ts';

let kv: Kv;
let view: StoreView;
let sole: SoleMember;
let nowMs = 0;
let answers = true;

function joined(id: string): Promise<number> {
  const value = encodeRecord({ nodeName: id, startedAt: '', version: '0.1.0', url: '', agentUrl: '' });
  return new StoreFormat('0.1.0').join(kv, { key: globalKey('control-planes', id), value }, async () => {});
}

beforeEach(async () => {
  const memory = createMemoryKv();
  const head = async (): Promise<number> => (answers ? memory.head() : Promise.reject(new Error('away')));
  kv = { ...memory, head };
  [nowMs, answers] = [0, true];
  view = await StoreView.open(kv, { onProblem: expect.fail });
  const store = new Store(kv, view);
  const barrier = new ReadBarrier(kv, view);
  sole = new SoleMember(store, 'cp_1', barrier, () => nowMs);
  await joined('cp_1');
  expect(await barrier.pass()).toBe(true);
});
afterEach(() => view.close());

const probe = { key: 'c/probe', value: '{}' };

it('proves with its guard that no other has joined', async () => {
  const guard = sole.guard() ?? expect.fail('it is not alone');
  expect((await kv.commit({ guards: [guard], puts: [probe] })).ok).toBe(true);
  await joined('cp_2');
  expect((await kv.commit({ guards: [guard], puts: [probe] })).ok).toBe(false);
});

it('is none beside another, nor while the last requests of that one may be answered', async () => {
  await view.reached(await joined('cp_2'));
  expect(sole.guard()).toBeUndefined();
  await kv.commit({ deletes: [globalKey('control-planes', 'cp_2')] });
  await view.reached(await kv.head());
  nowMs = 29_000;
  expect(sole.guard()).toBeUndefined();
  nowMs = 31_000;
  expect(sole.guard()).toBeDefined();
});

it('is none once its own record is gone, nor while the store does not answer', async () => {
  const barrier = new ReadBarrier(kv, view);
  const other = new SoleMember(new Store(kv, view), 'cp_1', barrier, () => nowMs);
  expect(other.guard()).toBeDefined();
  answers = false;
  expect(await barrier.pass()).toBe(false);
  expect(other.guard()).toBeUndefined();
  await kv.commit({ deletes: [globalKey('control-planes', 'cp_1')] });
  await view.reached(await joined('cp_3'));
  nowMs = 31_000;
  expect(sole.guard()).toBeUndefined();
});
