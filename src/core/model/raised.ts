/**
 * A number that agents or clients compare, above all that were given out since `known` was stored: the time in milliseconds, which no count of
 * what happened reaches, and which is another with every store that is put back. `step` under a clock that was set back.
 */
export function raisedAbove(known: number, nowMs: number, step: number): number {
  return known < nowMs ? nowMs : known + step;
}
