import { focusManager, QueryCache, QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { UnreachableError } from '../../sdk/index.ts';
import { askAgain } from './ask-again.ts';

const stops: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  focusManager.setFocused(undefined);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** When a query that is shown was asked, in seconds since the first time; nobody answers while `isDown`. */
function shown(refetchInterval: number | false) {
  const state = { isDown: true, asked: [] as number[] };
  const start = Date.now();
  const queries: QueryClient = new QueryClient({ queryCache: new QueryCache(askAgain(() => queries)) });
  const queryFn = () => {
    state.asked.push((Date.now() - start) / 1000);
    return state.isDown ? Promise.reject(new UnreachableError('nobody', {})) : Promise.resolve('there');
  };
  const observer = new QueryObserver(queries, { queryKey: ['all'], queryFn, refetchInterval, retry: false });
  stops.push(
    observer.subscribe(() => undefined),
    () => queries.clear(),
  );
  return state;
}

it('what nobody answers is asked again after twice as long each time, until its own reading comes sooner', async () => {
  const { asked } = shown(20_000);
  await vi.advanceTimersByTimeAsync(19_000);
  expect(asked).toEqual([0, 3, 9]);
  await vi.advanceTimersByTimeAsync(100_000);
  // 21 s is the third time; that the query reads by itself, every 20 s, is not tried outside of a browser.
  expect(asked).toEqual([0, 3, 9, 21]);
});

it('without a reading of its own it is asked for until there is an answer, and after the next failure soon again', async () => {
  const state = shown(false);
  await vi.advanceTimersByTimeAsync(110_000);
  expect(state.asked).toEqual([0, 3, 9, 21, 45, 75, 105]);
  state.isDown = false;
  await vi.advanceTimersByTimeAsync(300_000);
  expect(state.asked.slice(7)).toEqual([135]);
});

it('pages do not ask in the same moment', async () => {
  vi.mocked(Math.random).mockReturnValue(0.9);
  const { asked } = shown(false);
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toEqual([0, 4.35]);
});

it('nothing is asked again while nobody looks', async () => {
  const { asked } = shown(false);
  focusManager.setFocused(false);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(asked).toEqual([0]);
});
