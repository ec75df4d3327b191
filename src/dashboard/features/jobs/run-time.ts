import { span } from '../../lib/format.ts';

/** How long a run took, or has taken so far. */
export function runTime(startedAt: string | undefined, endedAt: string | undefined, nowMs: number): string {
  if (startedAt === undefined) return 'not started';
  return span((endedAt === undefined ? nowMs : Date.parse(endedAt)) - Date.parse(startedAt));
}
