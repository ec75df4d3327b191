import { LOG_LEVELS, type LogLevel } from '../../../core/model/log-level.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import { MAX_OWN_TAIL, type OWN_LOG_QUERY, RAISED } from '../../../core/operations/queries.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { booleanParameter, integerParameter, invalidParameter } from '../paging.ts';

const DEFAULT_TAIL = 100;
const SHORTEST_MS = 1000;

export interface OwnLogRequest {
  readonly follow: boolean;
  readonly level: LogLevel;
  readonly tail: number;
  readonly forMs: number;
}

/** Undefined: it is not said. */
export function durationParameter(
  name: string,
  text: string | undefined,
  most: { readonly text: string; readonly ms: number },
): number | undefined | Rejection {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  return ms !== undefined && ms >= SHORTEST_MS && ms <= most.ms
    ? ms
    : invalidParameter(name, text, `a duration from 1s to ${most.text}`);
}

export function ownLogRequest(
  query: Readonly<Partial<Record<keyof typeof OWN_LOG_QUERY, string>>>,
): OwnLogRequest | Rejection {
  const follow = booleanParameter({ ...query }, 'follow');
  if (isRejection(follow)) return follow;
  const level = LOG_LEVELS.find((one) => one === (query.level ?? 'info'));
  if (level === undefined)
    return invalidParameter('level', query.level ?? '', `one of ${LOG_LEVELS.join(', ')}`);
  const forMs = durationParameter('for', query.for, { text: RAISED.most, ms: RAISED.mostMs });
  if (isRejection(forMs)) return forMs;
  const tail = integerParameter({ ...query }, 'tail', 0, MAX_OWN_TAIL);
  if (isRejection(tail)) return tail;
  return { follow, level, tail: tail ?? DEFAULT_TAIL, forMs: forMs ?? RAISED.usualMs };
}
