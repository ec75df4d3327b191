import { expect, it } from 'vitest';
import { DEFAULT_PREFIXES } from '../../../core/model/mesh.ts';
import { type AddressPlan, planAddresses } from '../../../core/plan/network/addresses.ts';
import { AddressNews, QUIET_MS } from './address-news.ts';

const planned = (...nodes: readonly (readonly [string, readonly string[]])[]): AddressPlan =>
  planAddresses({
    prefixes: DEFAULT_PREFIXES,
    nodes: new Map(nodes),
    isBusy: () => false,
    subnets: new Map(),
    deployments: new Set(),
    virtual: new Map(),
    nowMs: 0,
  });

it('tells once why a node has no subnet, again when it is for another reason, and not more often than once a minute', () => {
  const told = new AddressNews();
  const tell = (plan: AddressPlan, nowMs: number) => {
    const { news, laterMs } = told.of(plan, nowMs);
    told.told(news, plan, nowMs);
    return [news.map(({ node, kind, message }) => `${kind} ${node} ${message}`), laterMs];
  };
  const [all, half] = [planned(['a', ['10.0.0.0/8']]), planned(['a', ['10.211.0.0/17']])];
  expect(tell(all, 0)).toEqual([
    [expect.stringMatching(/^node\.mesh_no_subnet a .*10\.0\.0\.0\/8.*network\.prefix/)],
    undefined,
  ]);
  expect(tell(all, 1)).toEqual([[], undefined]);
  expect(tell(half, 2)).toEqual([[], QUIET_MS]);
  expect(tell(planned(['a', []]), 3)).toEqual([[], undefined]);
  expect(tell(half, QUIET_MS)).toEqual([
    [expect.stringMatching(/virtual addresses, overlaps a route of the machine: 10\.211\.0\.0\/17/)],
    undefined,
  ]);
});

it('tells many in several commits', () => {
  const told = new AddressNews();
  const plan = planned(...Array.from({ length: 30 }, (_, at) => [`n${at}`, ['10.0.0.0/8']] as const));
  const first = told.of(plan, 0);
  expect([first.news.length, first.laterMs]).toEqual([20, 0]);
  told.told(first.news, plan, 0);
  expect(told.of(plan, 0).news).toHaveLength(10);
});
