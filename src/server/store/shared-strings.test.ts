import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { tenantKey } from './keys.ts';
import { createMemoryKv } from './memory.ts';
import { encodeRecord } from './records.ts';
import { SharedStrings } from './shared-strings.ts';
import { StoreView } from './view.ts';

const T1 = 't1' as TenantId;

it('leaves what records say as it is', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.array(fc.string()), (values, ids) => {
      const strings = new SharedStrings();
      for (const value of [...values, ...values]) {
        const text = JSON.stringify(value);
        const parsed: unknown = JSON.parse(text);
        strings.within(parsed);
        expect(JSON.stringify(parsed)).toBe(text);
      }
      for (const id of ids) expect(strings.ownId(id)).toBe(id);
    }),
    { numRuns: 200 },
  );
});

it('holds a text that is in many records once', async () => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  const used = (): number => {
    if (typeof collect === 'function') collect();
    return process.memoryUsage().heapUsed;
  };
  const kv = createMemoryKv();
  const [records, length] = [500, 8000];
  const value = encodeRecord({ message: 'x'.repeat(length), list: [{ digest: 'y'.repeat(length) }] });
  const puts = Array.from({ length: records }, (_, at) => ({
    key: tenantKey(T1, 'deployment-status', `web-${at}`),
    value,
  }));
  await kv.commit({ puts });
  const before = used();
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  expect(view.tenant(T1, 'deployment-status').size).toBe(records);
  expect(used() - before).toBeLessThan((records * length) / 4);
  view.close();
  await kv.close();
});
