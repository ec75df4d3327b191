import type { CronSchedule } from '../../model/schedule.ts';

/** A clock that was set back by more than this is believed; by less, the slots that passed already are not run again. */
const SET_BACK_MS = 3_600_000;
/** A slot that is taken up so much later was missed: the control plane was away, or its clock was set forward. */
const LATE_MS = 60_000;
/** Slots counted after a time away; a schedule of every second for a day is not walked to its end. */
const MAX_COUNTED = 100;

export interface DueSlots {
  /** Every slot up to here was run or skipped. */
  readonly lastSlotMs: number;
  /** Slots that have come; all of them lead to one run at most. */
  readonly count: number;
  /** The newest of them. */
  readonly slotMs?: number;
  readonly late: boolean;
  readonly nextMs?: number;
}

/**
 * Which slots have come since the last that was taken up. By the wall clock, as people write schedules by it; a jump of the clock
 * in either direction leads to one run at most and never to a storm.
 */
export function dueSlots(schedule: CronSchedule, lastSlotMs: number, wallMs: number): DueSlots {
  const from = lastSlotMs > wallMs + SET_BACK_MS ? wallMs : lastSlotMs;
  let count = 0;
  let slotMs: number | undefined;
  let next = schedule.nextAfter(from);
  while (next !== undefined && next <= wallMs && count < MAX_COUNTED) {
    count += 1;
    slotMs = next;
    next = schedule.nextAfter(next);
  }
  // Slots that were not counted are skipped all the same.
  if (next !== undefined && next <= wallMs) next = schedule.nextAfter(wallMs);
  const common = next === undefined ? {} : { nextMs: next };
  if (slotMs === undefined) return { lastSlotMs: from, count, late: false, ...common };
  const lastTaken = count === MAX_COUNTED ? Math.max(slotMs, wallMs) : slotMs;
  return {
    lastSlotMs: lastTaken,
    count,
    slotMs,
    late: count > 1 || wallMs - slotMs > LATE_MS,
    ...common,
  };
}
