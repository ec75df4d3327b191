import { idOf } from '../../../src/server/store/record-ids.ts';
import { CRASH_KINDS, CRASH_SIDES, Crasher, type CrashKind, type CrashPoint } from './crasher.ts';
import type { ReconcilePath } from './reconcile-paths.ts';
import { type Parts, SOUND, World } from './world.ts';

const NODES = ['n1', 'n2', 'n3'];
const SEED = 1;
const STEP_MS = 500;
/** Long enough for what is cleared away some seconds after the last change. */
const QUIET_MS = 12_000;
/** F-03: what a crash may cost, beside spans that the path itself has to wait again. */
const CRASH_COSTS_MS = 10_000;
const SETUP_MS = 60_000;
/** Without a fault. */
const PATH_MS = 240_000;

/** What there is at the end, in numbers that do not depend on when it came about. */
interface Inventory {
  readonly records: Readonly<Record<string, number>>;
  /** By kind and subject; of instances, whose names differ from run to run, by kind. */
  readonly events: ReadonlyMap<string, number>;
}

interface CrashRun {
  readonly point?: CrashPoint;
  /** The first law that was broken, or what was not as wanted in time; absent: all held. */
  readonly broken?: string;
  readonly tookMs: number;
  readonly counted: Readonly<Record<CrashKind, number>>;
  readonly judged: ReadonlyMap<string, number>;
  readonly inventory: Inventory;
  readonly fired: boolean;
}

/** Records that outlive what they tell of for a while are no leak; these are made and removed by the paths themselves. */
async function inventoryOf({ kv, truth, machines }: World): Promise<Inventory> {
  const { entries } = await kv.range('h/t/');
  const kinds = Map.groupBy(entries, ({ key }) => key.split('/')[3] ?? '');
  const records = Object.fromEntries([...kinds].map(([kind, found]) => [kind, found.length]));
  for (const { name, volumes } of machines.values())
    records[`volumes kept by ${name}`] = volumes.observations().length;
  const stored = await truth.rangeCold('events', '', { limit: 10_000 });
  const events = Map.groupBy(
    stored.entries.map(({ record }) => record),
    ({ kind, subject }) => (subject.kind === 'Instance' ? kind : `${kind} ${subject.name}`),
  );
  return { records, events: new Map([...events].map(([event, all]) => [event, all.length])) };
}

function silentNode({ truth, machines }: World): string | undefined {
  const silent = [...machines.keys()].find(
    (name) => truth.get('node-liveness', idOf('node-liveness', name))?.record.status !== 'ready',
  );
  return silent === undefined ? undefined : `node ${silent} is not ready`;
}

/** Until nothing is missing; the answer is what still is after that time. */
async function converge(
  world: World,
  missing: (world: World) => string | undefined,
  limitMs: number,
): Promise<string | undefined> {
  for (const endMs = world.time.monotonicMs() + limitMs; ; ) {
    await world.advance(STEP_MS);
    if (world.laws.broken.length > 0) return world.laws.broken[0];
    const found = missing(world);
    if (found === undefined) return undefined;
    if (world.time.monotonicMs() >= endMs) return `convergence: ${found}, after ${limitMs / 1000} s`;
  }
}

const settled = (world: World): string | undefined => world.laws.unsettled() ?? silentNode(world);

async function walk(world: World, path: ReconcilePath, limitMs: number): Promise<string | undefined> {
  const startedMs = world.time.monotonicMs();
  for (const { act, until = settled } of path.stages) {
    await act(world);
    const leftMs = Math.max(STEP_MS, limitMs - (world.time.monotonicMs() - startedMs));
    const missing = await converge(world, until, leftMs);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** One way along a path, with a crash at one point of it or with none. `freeMs` is how long it takes without. */
export async function crashRun(
  path: ReconcilePath,
  { point, freeMs, parts = SOUND }: { point?: CrashPoint; freeMs?: number; parts?: Parts } = {},
): Promise<CrashRun> {
  const world = await World.create(SEED, NODES, parts);
  const crasher = new Crasher(point);
  world.crasher = crasher;
  try {
    const ready = await converge(world, settled, SETUP_MS);
    await path.setup?.(world);
    const began = ready ?? (await converge(world, path.begins ?? settled, SETUP_MS));
    if (began !== undefined) throw new Error(`${path.name} cannot begin: ${began}`);
    await world.advance(QUIET_MS);
    crasher.begin();
    const startedMs = world.time.monotonicMs();
    const costsMs = CRASH_COSTS_MS + (path.againMs ?? 0);
    let broken = await walk(world, path, freeMs === undefined ? PATH_MS : freeMs + costsMs);
    const tookMs = world.time.monotonicMs() - startedMs;
    const early = crasher.fired;
    await world.advance(QUIET_MS);
    crasher.end();
    if (crasher.fired && !early) {
      broken ??= await converge(world, settled, costsMs);
      await world.advance(QUIET_MS);
    }
    broken ??= world.laws.broken[0] ?? settled(world);
    return {
      ...(point && { point }),
      ...(broken !== undefined && { broken }),
      tookMs,
      counted: crasher.counted,
      judged: world.laws.judged,
      inventory: await inventoryOf(world),
      fired: crasher.fired,
    };
  } finally {
    await world.close();
  }
}

/**
 * How a container does is told from what the process saw change; what it finds at its start counts as told (`plan/rollout/memory.ts`).
 * A state that is over before a control plane is back is not told either.
 */
const SEEN_EVENTS = /^(instance\.(started|unhealthy|failed)|deployment\.degraded)/;
/** What is done once is told once. */
const ONCE = /^(job\.|volume\.|node\.drained|deployment\.(rolled_back|canary_|scaled))/;

/** What one run has and the other has not. */
function difference(free: Inventory, crashed: Inventory): string | undefined {
  const kinds = new Set([...Object.keys(free.records), ...Object.keys(crashed.records)]);
  const counts = [...kinds]
    .filter((kind) => free.records[kind] !== crashed.records[kind])
    .map((kind) => `${crashed.records[kind] ?? 0} ${kind} instead of ${free.records[kind] ?? 0}`);
  const told = [...free.events]
    .map(([event, count]) => ({ event, count, told: crashed.events.get(event) ?? 0 }))
    .filter(({ event, count, told: times }) =>
      times < count ? !SEEN_EVENTS.test(event) : times > count && ONCE.test(event),
    )
    .map(({ event, count, told: times }) => `${event} told ${times} times instead of ${count}`);
  return counts.length + told.length === 0 ? undefined : `leak: ${[...counts, ...told].join(', ')}`;
}

interface PathResult {
  readonly name: string;
  readonly points: number;
  readonly crashes: number;
  readonly slowestMs: number;
  readonly freeMs: number;
  readonly failures: readonly string[];
  readonly judged: ReadonlyMap<string, number>;
}

function pointsOf(counted: Readonly<Record<CrashKind, number>>): readonly CrashPoint[] {
  return CRASH_KINDS.flatMap((kind) =>
    Array.from({ length: counted[kind] }, (_, at) =>
      CRASH_SIDES.map((side): CrashPoint => ({ kind, at: at + 1, side })),
    ).flat(),
  );
}

/** The path without a crash, then once more for each point of it and each side of the point. */
export async function crashEverywhere(path: ReconcilePath, parts?: Parts): Promise<PathResult> {
  const free = await crashRun(path, { ...(parts && { parts }) });
  if (free.broken !== undefined) throw new Error(`${path.name} fails without a crash: ${free.broken}`);
  const points = pointsOf(free.counted);
  const judged = new Map(free.judged);
  const failures: string[] = [];
  let crashes = 0;
  let slowestMs = 0;
  for (const point of points) {
    const run = await crashRun(path, { point, freeMs: free.tookMs, ...(parts && { parts }) });
    if (run.fired) crashes += 1;
    for (const [law, count] of run.judged) judged.set(law, (judged.get(law) ?? 0) + count);
    slowestMs = Math.max(slowestMs, run.tookMs - free.tookMs);
    const broken = run.broken ?? difference(free.inventory, run.inventory);
    if (broken !== undefined)
      failures.push(`${path.name}: crash ${point.side} ${point.kind} ${point.at}: ${broken}`);
  }
  const { name } = path;
  return { name, points: points.length, crashes, slowestMs, freeMs: free.tookMs, failures, judged };
}
