import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentMessage, Report } from '../../core/protocol/agent-protocol.ts';
import { CleaningNews } from '../cleaning/cleaning-news.ts';
import type { RouteReport } from '../ingress/route.ts';
import { Reporter, type ReportSource, type ReportWay } from './reporter.ts';

const HEARTBEAT_MS = 1_000;

let routes: readonly RouteReport[];
let whole: boolean;
let sent: Report[];
let isOpen: boolean;
let reporter: Reporter;
let pulses = 0;

const welcome = (epoch: number) => ({ epoch, heartbeatMs: HEARTBEAT_MS });
const way: ReportWay = {
  send: (message: AgentMessage) => {
    if (message.type === 'report') sent.push(message);
    return isOpen;
  },
  pulse: () => {
    pulses += 1;
  },
};

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
  reporter = new Reporter(source, way);
});
afterEach(() => {
  reporter.end();
  vi.useRealTimers();
});

const told = () => sent.map(({ ingress }) => ingress?.routes[0]?.state);

describe('what is reported of the ingress', () => {
  it('is said when it changes, once a minute and in every session, and not with each heartbeat', () => {
    whole = false;
    reporter.begin(welcome(1));
    expect(told()).toEqual(['waiting']);
    vi.advanceTimersByTime(3_500);
    expect(told().slice(1)).toEqual([undefined, undefined, undefined]);
    routes = [{ deployment: 'web', host: 'a.example', state: 'serving' }];
    reporter.nodeChanged();
    expect(told().at(-1)).toBe('serving');
    reporter.nodeChanged();
    expect(told().at(-1)).toBeUndefined();
    reporter.end();
    reporter.begin(welcome(2));
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
    { send: () => isOpen, pulse: () => undefined },
  );
  news.discarded(divergence);
  news.removed(image, 'disk');
  isOpen = false;
  telling.begin(welcome(1));
  telling.end();
  news.removed({ ...image, image: 'web:2' }, 'disk');
  expect(news.takeDiscarded()).toEqual([divergence]);
  expect(news.take()).toEqual([{ cause: 'disk', images: [image, { ...image, image: 'web:2' }] }]);
  isOpen = true;
  news.discarded(divergence);
  telling.begin(welcome(2));
  telling.end();
  expect(news.takeDiscarded()).toBeUndefined();
});

describe('a heartbeat with nothing to say', () => {
  let generation: number;
  let usage: number;
  let disk: number | undefined;
  let beats: number[];
  let quiet: Reporter;

  beforeEach(() => {
    [generation, usage, beats, pulses, disk] = [1, 0, [], 0, undefined];
    quiet = new Reporter(
      {
        ...source,
        ingress: () => (usage < 0 ? [] : undefined),
        generation: () => generation,
        engineProblem: () => (usage > 0 ? 'busy' : undefined),
        facts: () => (disk === undefined ? undefined : ({ disk } as never)),
        onBeat: (beat) => beats.push(beat),
      },
      way,
    );
  });
  afterEach(() => quiet.end());

  const passed = (count: number): readonly [reports: number, pulses: number] => {
    [sent, pulses] = [[], 0];
    vi.advanceTimersByTime(count * HEARTBEAT_MS * 1.1);
    return [sent.length, pulses];
  };

  it('is a report where the control plane does not take a pulse', () => {
    quiet.begin(welcome(1));
    expect(passed(5)[0]).toBeGreaterThanOrEqual(5);
    expect(pulses).toBe(0);
  });

  it('is a pulse once two reports in a row said nothing, and a whole report once a minute', () => {
    quiet.begin({ ...welcome(1), hearsPulses: true });
    passed(1);
    const [reports, first] = passed(20);
    expect(reports).toBeLessThanOrEqual(1);
    expect(first).toBeGreaterThanOrEqual(18);
    passed(60);
    expect(sent.map(({ full }) => full)).toEqual([true]);
    // What a lease is counted from is the report that asks for it.
    expect(beats).toEqual(beats.map((_, at) => at + 1));
  });

  it('is one beside measurements, and once facts that changed were told twice', () => {
    quiet.begin({ ...welcome(1), hearsPulses: true });
    passed(5);
    [sent, pulses] = [[], 0];
    for (let round = 0; round < 4; round += 1) {
      quiet.measured([{ id: 'in_1' } as never]);
      vi.advanceTimersByTime(3 * HEARTBEAT_MS);
    }
    expect(sent.map((report) => report.usage?.length)).toEqual([1, 1, 1, 1]);
    expect(pulses).toBeGreaterThanOrEqual(6);
    disk = 7;
    passed(10);
    expect(sent.map(({ facts }) => facts)).toEqual([{ disk }, { disk }]);
    expect(pulses).toBeGreaterThanOrEqual(7);
    disk = 8;
    passed(1);
    expect(sent.at(0)).toMatchObject({ facts: { disk } });
  });

  it('is a report as long as a whole one is due and cannot be given', () => {
    whole = false;
    quiet.begin({ ...welcome(1), hearsPulses: true });
    expect(passed(6)[1]).toBe(0);
  });

  it('is a report again while there is something, after new orders, in a new session, and of who serves the ingress', () => {
    quiet.begin({ ...welcome(1), hearsPulses: true });
    passed(5);
    usage = 1;
    const [loud, none] = passed(4);
    expect([loud >= 4, none]).toEqual([true, 0]);
    usage = 0;
    passed(5);
    generation = 2;
    passed(2);
    expect(sent.map((report) => report.generation)).toEqual([2, 2].slice(0, sent.length));
    expect(sent).not.toHaveLength(0);
    passed(5);
    quiet.end();
    sent = [];
    quiet.begin({ ...welcome(2), hearsPulses: true });
    expect(sent).toMatchObject([{ epoch: 2, full: true }]);
    passed(5);
    usage = -1;
    expect(passed(5)[1]).toBe(0);
  });
});
