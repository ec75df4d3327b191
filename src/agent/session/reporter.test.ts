import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentMessage, Report } from '../../core/protocol/agent-protocol.ts';
import type { RouteReport } from '../ingress/route.ts';
import { Reporter, type ReportSource } from './reporter.ts';

const HEARTBEAT_MS = 1_000;

let routes: readonly RouteReport[];
let whole: boolean;
let sent: Report[];
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
  volumes: () => [],
  onBeat: () => undefined,
};

beforeEach(() => {
  vi.useFakeTimers();
  [routes, whole, sent] = [[{ deployment: 'web', host: 'a.example', state: 'waiting' }], true, []];
  reporter = new Reporter(source, (message: AgentMessage) => {
    if (message.type === 'report') sent.push(message);
    return true;
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
