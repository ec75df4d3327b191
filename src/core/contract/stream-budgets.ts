import type { StreamOperation } from '../protocol/agent-protocol.ts';

/** What the streams of a session with an agent are for. None can use up what belongs to another. */
export type StreamPurpose =
  | 'copies'
  | 'commands'
  | 'forwards'
  | 'questions'
  | 'kept logs'
  | 'logs'
  | 'followed logs';

export interface StreamBudget {
  /** Of one node at once. */
  readonly streams: number;
  /** What may be under way of each to a reader that has not taken it yet. */
  readonly windowBytes: number;
  /** The agent sends no more of it while this much waits to leave the machine: what matters more is not queued behind it. */
  readonly queuedBytes: number;
}

const KIB = 1024;

/**
 * Copies first, commands next, logs last. Followed logs leave room on agents of the first release, which serve 32 streams of whatever
 * kind. A window of less than 128 KiB could wait for ever for their credit, which comes in pieces of 64 KiB.
 */
export const STREAM_BUDGETS: Readonly<Record<StreamPurpose, StreamBudget>> = {
  copies: { streams: 64, windowBytes: 256 * KIB, queuedBytes: Number.POSITIVE_INFINITY },
  commands: { streams: 16, windowBytes: 256 * KIB, queuedBytes: 1024 * KIB },
  /** Connections to ports of containers, each of its own. */
  forwards: { streams: 64, windowBytes: 256 * KIB, queuedBytes: 1024 * KIB },
  questions: { streams: 16, windowBytes: 256 * KIB, queuedBytes: 1024 * KIB },
  /** What jobs printed, fetched by the control plane itself. */
  'kept logs': { streams: 8, windowBytes: 256 * KIB, queuedBytes: 512 * KIB },
  logs: { streams: 16, windowBytes: 128 * KIB, queuedBytes: 256 * KIB },
  'followed logs': { streams: 24, windowBytes: 128 * KIB, queuedBytes: 256 * KIB },
};

export function purposeOf(operation: StreamOperation): StreamPurpose {
  switch (operation.kind) {
    case 'volume-receive':
      return 'copies';
    case 'exec':
    case 'attach':
    case 'copy-out':
    case 'copy-in':
      return 'commands';
    case 'connect':
      return 'forwards';
    case 'logs':
    case 'agent-log':
      return operation.follow ? 'followed logs' : 'logs';
    default:
      return 'questions';
  }
}

/** How many the agent serves: it cannot know whether a log is read for a client or to be kept. */
export function servedByAgent(purpose: StreamPurpose): number {
  const { streams } = STREAM_BUDGETS[purpose];
  return purpose === 'logs' ? streams + STREAM_BUDGETS['kept logs'].streams : streams;
}

export function budgetUsedUp(purpose: StreamPurpose, streams: number): string {
  return `the node serves at most ${streams} ${purpose} at once, and has as many`;
}
