import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentMessage, Report } from '../../core/protocol/agent-protocol.ts';
import { CleaningNews } from '../cleaning/cleaning-news.ts';
import type { RouteReport } from '../ingress/route.ts';
import { Reporter, type ReportSource } from './reporter.ts';

const HEARTBEAT_MS = 1_000;

let routes: readonly RouteReport[];
let whole: boolean;
let sent: Report[];
let isOpen: boolean;
let reporter: Reporter;

const source: ReportSource = {
  observation: () => {
    throw new Error('there are none');
  },
  observations: () => [],
  isWhole: () => whole,
  generation: () => 1,
  isReading: () => false,
  failures: () => [],
  hasFailures: () => false,
  engineProblem: () => undefined,
  networks: () => [],
  mesh: () => [],
  ingress: () => routes,
  traffic: () => [],
  facts: () => undefined,
  offline: () => undefined,
  cleaned: () => undefined,
  discarded: () => undefined,
  notSent: () => undefined,
  volumes: () => [],
  onBeat: () => undefined,
};

beforeEach(() => {
  vi.useFakeTimers();
  [routes, whole, sent] = [[{ deployment: 'web', host: 'a.example', state: 'waiting' }], true, []];
  isOpen = true;
  reporter = new Reporter(source, (message: AgentMessage) => {
    if (message.type === 'report') sent.push(message);
    return isOpen;
  });
});
afterEach(() => {
  reporter.end();
  vi.useRealTimers();
});

const told = () => sent.map(({ ingress }) => ingress?.routes[0]?.state);

describe('what is reported of the ingress', () => {
  it('is said when it changes, once a minute and in every session, and not with each heartbeat', () => {
    whole = false;
    reporter.begin(1, HEARTBEAT_MS);
    expect(told()).toEqual(['waiting']);
    vi.advanceTimersByTime(3_500);
    expect(told().slice(1)).toEqual([undefined, undefined, undefined]);
    routes = [{ deployment: 'web', host: 'a.example', state: 'serving' }];
    reporter.nodeChanged();
    expect(told().at(-1)).toBe('serving');
    reporter.nodeChanged();
    expect(told().at(-1)).toBeUndefined();
    reporter.end();
    reporter.begin(2, HEARTBEAT_MS);
    expect(told().at(-1)).toBe('serving');
    whole = true;
    reporter.becameWhole();
    sent = [];
    vi.advanceTimersByTime(65_000);
    expect(told().filter((state) => state === 'serving')).toHaveLength(1);
    expect(sent.length).toBeGreaterThan(50);
  });
});

it('puts back what was removed when the report of it could not be sent', () => {
  const news = new CleaningNews();
  const divergence = { volumeId: 'vol_1', epoch: 1, path: '/mnt/diverged-1', keptMs: 0 };
  const image = { image: 'web:1', bytes: 1 };
  const telling = new Reporter(
    {
      ...source,
      cleaned: () => news.take(),
      discarded: () => news.takeDiscarded(),
      notSent: (back) => news.putBack(back),
    },
    () => isOpen,
  );
  news.discarded(divergence);
  news.removed(image, 'disk');
  isOpen = false;
  telling.begin(1, HEARTBEAT_MS);
  telling.end();
  news.removed({ ...image, image: 'web:2' }, 'disk');
  expect(news.takeDiscarded()).toEqual([divergence]);
  expect(news.take()).toEqual([{ cause: 'disk', images: [image, { ...image, image: 'web:2' }] }]);
  isOpen = true;
  news.discarded(divergence);
  telling.begin(2, HEARTBEAT_MS);
  telling.end();
  expect(news.takeDiscarded()).toBeUndefined();
});
