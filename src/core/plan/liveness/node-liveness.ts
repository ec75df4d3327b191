import type { NodeName } from '../../model/ids.ts';
import type { NodeStatus } from '../../model/node.ts';

/** Spans on the server's monotonic clock; no wall clock takes part. */
export interface LivenessTimings {
  readonly failAfterMs: number;
  readonly replaceAfterMs: number;
  /** For this long after a start no node is marked failed: agents need time to reconnect. */
  readonly startGraceMs: number;
  /** A loop that comes later than this was not listening meanwhile (fault F-21). */
  readonly lateAfterMs: number;
  /** Without a session for so long, a node takes no new work although it is not failed yet. */
  readonly redialMs: number;
  /** A node that failed twice within this time has to prove itself before it is ready again (fault F-11). */
  readonly flapWindowMs: number;
  readonly steadyMs: number;
  /** Part of a tenant's nodes above which failures look like a failure of the control plane. */
  readonly brakeShare: number;
}

export const LIVENESS_TIMINGS: LivenessTimings = {
  failAfterMs: 15_000,
  replaceAfterMs: 60_000,
  startGraceMs: 30_000,
  lateAfterMs: 5_000,
  redialMs: 5_000,
  flapWindowMs: 600_000,
  steadyMs: 15_000,
  brakeShare: 0.55,
};

/** The spans that an operator sets; those that only make sense beside them keep their proportion. */
export function livenessTimings(
  set: Pick<LivenessTimings, 'failAfterMs' | 'replaceAfterMs' | 'startGraceMs'>,
): LivenessTimings {
  const share = set.failAfterMs / LIVENESS_TIMINGS.failAfterMs;
  return {
    ...LIVENESS_TIMINGS,
    ...set,
    lateAfterMs: LIVENESS_TIMINGS.lateAfterMs * share,
    redialMs: LIVENESS_TIMINGS.redialMs * share,
    steadyMs: set.failAfterMs,
  };
}

/** What is remembered of one node's signs of life. */
export interface NodePulse {
  /** Of the last sign of life; for a node that was not heard of since the start, of the start. */
  readonly lastBeatMs: number;
  /** Since when signs of life come without a gap. */
  readonly steadySinceMs: number;
  readonly heard: boolean;
  /** Absent while a session is open. */
  readonly closedMs?: number;
  /** Times of the last failures, oldest first, at most two. */
  readonly failures: readonly number[];
}

export interface JudgedNode {
  readonly name: NodeName;
  readonly pulse: NodePulse;
  /** As stored; absent: the node never reported. */
  readonly status?: NodeStatus;
  readonly lost: boolean;
  /** A control plane runs there and says so itself: never counted as impaired. */
  readonly controlPlane: boolean;
}

export interface LivenessInput {
  readonly nodes: readonly JudgedNode[];
  /** Beside them: nodes that are ready without a question (`isSettled`), of which no verdict is wanted. */
  readonly settled?: number;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly brake: boolean;
  readonly timings: LivenessTimings;
}

export interface NodeVerdict {
  readonly name: NodeName;
  readonly status: NodeStatus;
  readonly lost: boolean;
  readonly connected: boolean;
  readonly reason?: string;
}

export interface LivenessVerdicts {
  readonly nodes: readonly NodeVerdict[];
  readonly brake: boolean;
  /** Nodes that hold the brake. */
  readonly failing: readonly NodeName[];
}

/** Nodes that never reported get no verdict: they are enrolled, and nothing is known of them. */
export function judgeNodes(input: LivenessInput): LivenessVerdicts {
  const judged = input.nodes
    .filter((node) => node.status !== undefined || node.pulse.heard)
    .map((node) => ({ node, status: statusOf(node, input) }));
  // Nodes whose loss is settled are no longer part of the question whether too many fail at once.
  const undecided = judged.filter(({ node, status }) => !(node.lost && status === 'failed'));
  const failing = undecided.filter(({ status }) => status === 'failed').map(({ node }) => node.name);
  const among = undecided.length + (input.settled ?? 0);
  const brake = failing.length > among * input.timings.brakeShare;
  return {
    nodes: judged.map(({ node, status }) => verdict(node, status, brake, input)),
    brake,
    failing: brake ? failing : [],
  };
}

/** Of a node that was judged ready: no session of it has closed and its silence is short, so that its verdict would be the one before. */
export function isSettled(
  { lastBeatMs, closedMs }: NodePulse,
  nowMs: number,
  { failAfterMs }: LivenessTimings,
): boolean {
  return closedMs === undefined && nowMs - lastBeatMs < failAfterMs;
}

function statusOf(node: JudgedNode, { nowMs, startedMs, timings }: LivenessInput): NodeStatus {
  const { pulse } = node;
  const known = node.status ?? 'ready';
  if (node.controlPlane) return 'ready';
  const silenceMs = nowMs - pulse.lastBeatMs;
  if (silenceMs >= timings.failAfterMs) {
    return nowMs - startedMs < timings.startGraceMs ? known : 'failed';
  }
  if (known === 'ready') return 'ready';
  if (!pulse.heard) return known;
  const flapping = pulse.failures.filter((at) => nowMs - at < timings.flapWindowMs).length > 1;
  return flapping && pulse.lastBeatMs - pulse.steadySinceMs < timings.steadyMs ? 'failed' : 'ready';
}

function verdict(
  node: JudgedNode,
  status: NodeStatus,
  brake: boolean,
  { nowMs, timings }: LivenessInput,
): NodeVerdict {
  const { name, pulse } = node;
  const silenceMs = nowMs - pulse.lastBeatMs;
  const closedForMs = pulse.closedMs === undefined ? 0 : nowMs - pulse.closedMs;
  const connected = closedForMs < timings.redialMs;
  if (status === 'ready') return { name, status, lost: false, connected };
  const silent = silenceMs >= timings.failAfterMs;
  return {
    name,
    status,
    // A loss once decided stands until the node returns, also when the brake comes on later.
    lost: silent && (node.lost || (!brake && silenceMs >= timings.replaceAfterMs)),
    connected,
    reason: silent
      ? `no sign of life for ${timings.failAfterMs / 1000} s`
      : 'flapping; has to be steady first',
  };
}

export function firstPulse(nowMs: number): NodePulse {
  return { lastBeatMs: nowMs, steadySinceMs: nowMs, heard: false, failures: [] };
}

export function beat(pulse: NodePulse, nowMs: number, timings: LivenessTimings): NodePulse {
  if (pulse.heard && nowMs - pulse.lastBeatMs < timings.failAfterMs) return { ...pulse, lastBeatMs: nowMs };
  return { ...pulse, lastBeatMs: nowMs, heard: true, steadySinceMs: nowMs };
}

export function noteFailure(pulse: NodePulse, nowMs: number): NodePulse {
  return { ...pulse, failures: [...pulse.failures, nowMs].slice(-2) };
}

/**
 * The process did not run for a while (stopped, suspended, starved), so silence of that time is ours and not the nodes'. A node that
 * was thought alive gets a fresh grace; for one that had failed already the time does not count.
 */
export function forgiveSilence(
  pulse: NodePulse,
  nowMs: number,
  gapMs: number,
  failAfterMs: number,
): NodePulse {
  const wasSilent = nowMs - gapMs - pulse.lastBeatMs >= failAfterMs;
  const lastBeatMs = wasSilent ? pulse.lastBeatMs + gapMs : nowMs;
  return { ...pulse, lastBeatMs, ...(pulse.closedMs !== undefined && { closedMs: nowMs }) };
}
