import { expect, it } from 'vitest';
import { tenantId } from '../../core/model/ids.ts';
import { KeptSeries } from './kept-series.ts';
import { Series } from './series.ts';

const FIRST = tenantId('11111111-1111-4111-8111-111111111111');
const SECOND = tenantId('22222222-2222-4222-8222-222222222222');

function kept(...names: readonly string[]): { readonly series: KeptSeries; readonly of: typeof FIRST } {
  const series = new KeptSeries();
  for (const name of names) series.add(FIRST, 'deployments', name, new Series());
  return { series, of: FIRST };
}

it('names the newest, also after it went and came back', () => {
  const { series, of } = kept('a', 'b', 'c');
  series.drop(of, 'deployments', 'a');
  series.add(of, 'deployments', 'a', new Series());
  const seen: (string | undefined)[] = [];
  for (let newest = series.of(of)?.deployments.newest; newest; newest = series.of(of)?.deployments.newest) {
    seen.push(newest);
    series.drop(of, 'deployments', newest);
  }
  expect(seen).toEqual(['a', 'c', 'b']);
  expect(series).toMatchObject({ count: 0, most: 0, largest: undefined });
});

it('forgets names of series that went, however many came and went', () => {
  const { series, of } = kept('kept');
  for (let at = 0; at < 1000; at += 1) {
    series.add(of, 'deployments', `web-${at}`, new Series());
    series.drop(of, 'deployments', `web-${at}`);
  }
  expect(series.of(of)?.deployments.newest).toBe('kept');
});

it('knows the tenant that has most as series come and go', () => {
  const { series } = kept('a', 'b');
  expect([series.largest, series.most]).toEqual([FIRST, 2]);
  for (const name of ['a', 'b', 'c']) series.add(SECOND, 'nodes', name, new Series());
  expect([series.largest, series.most]).toEqual([SECOND, 3]);
  for (const name of ['a', 'b']) series.drop(SECOND, 'nodes', name);
  expect([series.largest, series.most, series.sizeOf(SECOND), series.count]).toEqual([FIRST, 2, 1, 3]);
  series.drop(SECOND, 'nodes', 'unknown');
  expect(series.count).toBe(3);
});
