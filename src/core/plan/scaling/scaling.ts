/** Within this share of the target nothing moves, or measurements that waver would make instances come and go. */
const TOLERANCE = 0.1;
/** Weight of the newest reading: one peak alone moves the mean half-way. */
const SMOOTHING = 0.5;
/** Sums of fractions may end a hair above a whole number. */
const HAIR = 1e-9;
/** A decision needs more than one look. */
const MIN_READINGS = 2;

export interface ScalingBounds {
  readonly floor: number;
  readonly ceiling: number;
}

export interface ScalingInput extends ScalingBounds {
  readonly replicas: number;
  /** Of the spec that is measured: loads of another one are not carried on. */
  readonly specHash: string;
  readonly targetPercent: number;
  readonly cooldownMs: number;
  /** Why load must not be acted on now: a rollout, a canary, a deployment that is not healthy. */
  readonly hold?: string;
  /** One entry per wanted instance, in the unit of the target; undefined: no recent measurement. */
  readonly loads: readonly (number | undefined)[];
  readonly memory?: ScalingMemory;
  /** Looks that follow sooner than this are not another reading. */
  readonly intervalMs: number;
  readonly nowMs: number;
}

/** Times are on the monotonic clock: a control plane that was restarted waits a whole cooldown again. */
export interface ScalingMemory {
  readonly replicas: number;
  readonly specHash: string;
  /** When the number changed last, or was first seen. */
  readonly changedMs: number;
  readonly reading?: {
    readonly percent: number;
    readonly complete: boolean;
    readonly count: number;
    readonly takenMs: number;
  };
  /** Since when fewer would do, and the most that would have done since. */
  readonly low?: { readonly sinceMs: number; readonly most: number };
}

export interface ScalingDecision {
  readonly memory: ScalingMemory;
  /** Absent: the number stays. */
  readonly to?: number;
  readonly cause?: 'bounds' | 'load';
  /** Smoothed; absent without any measurement. */
  readonly percent?: number;
  readonly measured: number;
  readonly message: string;
  readonly paused: boolean;
}

/**
 * Up as soon as the smoothed load asks for it and the cooldown is over; down only after a whole cooldown in which every reading was
 * complete and asked for fewer, and then to the most that any of them asked for. An instance without a measurement counts as idle
 * when more are wanted and forbids to go down: what is not known takes nothing away.
 */
export function decideScaling(input: ScalingInput): ScalingDecision {
  const { replicas, specHash, nowMs, floor, ceiling, memory } = input;
  const known = memory?.replicas === replicas && memory.specHash === specHash ? memory : undefined;
  const base: ScalingMemory = { replicas, specHash, changedMs: known?.changedMs ?? nowMs };
  const measured = input.loads.filter((load) => load !== undefined).length;
  const hold = replicas === 0 ? 'the deployment is stopped' : input.hold;
  if (hold !== undefined) return { memory: base, measured, paused: true, message: hold };
  if (replicas < floor || replicas > ceiling) {
    const to = Math.min(ceiling, Math.max(floor, replicas));
    const message = `${replicas} is outside the bounds ${floor} to ${ceiling}`;
    return { memory: moved(input, to), to, cause: 'bounds', measured, paused: false, message };
  }
  if (measured === 0) {
    return { memory: base, measured, paused: true, message: 'no instance has a recent measurement' };
  }
  return decideByLoad(input, measured, readingOf(input, known, measured), known, base.changedMs);
}

type Reading = NonNullable<ScalingMemory['reading']>;

function readingOf(
  { loads, replicas, intervalMs, nowMs }: ScalingInput,
  known: ScalingMemory | undefined,
  measured: number,
): Reading {
  const complete = measured === loads.length && measured >= replicas;
  const before = known?.reading;
  // A mean over fewer instances cannot be carried on into one over all of them.
  const carried = before?.complete === complete ? before : undefined;
  if (carried !== undefined && nowMs - carried.takenMs < intervalMs * 0.9) return carried;
  const sum = loads.reduce<number>((total, load) => total + (load ?? 0), 0);
  const fresh = sum / Math.max(loads.length, replicas);
  const percent = carried === undefined ? fresh : carried.percent + SMOOTHING * (fresh - carried.percent);
  return { percent, complete, count: (carried?.count ?? 0) + 1, takenMs: nowMs };
}

function decideByLoad(
  input: ScalingInput,
  measured: number,
  reading: Reading,
  known: ScalingMemory | undefined,
  changedMs: number,
): ScalingDecision {
  const { replicas, specHash, cooldownMs, nowMs } = input;
  const wanted = wantedFor(input, reading.percent);
  const low = lowSince(known?.low, replicas, wanted, reading.complete, nowMs);
  const memory: ScalingMemory = { replicas, specHash, changedMs, reading, ...(low && { low }) };
  const decision = { measured, percent: reading.percent, paused: false };
  const isCool = nowMs - changedMs >= cooldownMs;
  if (wanted > replicas && isCool && reading.count >= MIN_READINGS) {
    return {
      ...decision,
      memory: moved(input, wanted),
      to: wanted,
      cause: 'load',
      message: `${wanted} are wanted`,
    };
  }
  if (low !== undefined && isCool && nowMs - low.sinceMs >= cooldownMs) {
    const message = `${low.most} would do`;
    return { ...decision, memory: moved(input, low.most), to: low.most, cause: 'load', message };
  }
  return { ...decision, memory, message: restingMessage(input, wanted, reading, measured) };
}

function restingMessage(
  { replicas, loads, targetPercent, floor, ceiling }: ScalingInput,
  wanted: number,
  reading: Reading,
  measured: number,
): string {
  if (wanted > replicas) return `${wanted} instances are wanted after the cooldown`;
  if (!reading.complete)
    return `${loads.length - measured} of ${loads.length} instances have no recent measurement`;
  if (wanted < replicas) return `${wanted} instances would do, if that holds for a cooldown`;
  const ratio = reading.percent / targetPercent;
  if (replicas >= ceiling && ratio > 1 + TOLERANCE) return `the load asks for more; ${ceiling} is the most`;
  if (replicas <= floor && ratio < 1 - TOLERANCE) return `the load asks for fewer; ${floor} is the least`;
  return 'the load is near the target';
}

/** Never more than double, or four more: what follows is decided on what the new ones change. */
function wantedFor({ replicas, targetPercent, floor, ceiling }: ScalingInput, percent: number): number {
  const ratio = percent / targetPercent;
  if (Math.abs(ratio - 1) <= TOLERANCE + HAIR) return replicas;
  const exact = Math.ceil(replicas * ratio - HAIR);
  const step = Math.min(exact, Math.max(2 * replicas, replicas + 4));
  return Math.min(ceiling, Math.max(floor, step));
}

function lowSince(
  before: ScalingMemory['low'],
  replicas: number,
  wanted: number,
  complete: boolean,
  nowMs: number,
): ScalingMemory['low'] {
  if (!complete || wanted >= replicas) return undefined;
  return before === undefined
    ? { sinceMs: nowMs, most: wanted }
    : { sinceMs: before.sinceMs, most: Math.max(before.most, wanted) };
}

function moved({ specHash, nowMs }: ScalingInput, replicas: number): ScalingMemory {
  return { replicas, specHash, changedMs: nowMs };
}
