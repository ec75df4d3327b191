import { Cron } from 'croner';
import { messageOf } from '../core/model/values.ts';
import type { CronSchedule, ParseSchedule } from '../core/model/schedule.ts';
import { withoutTrailing } from '../core/model/text-end.ts';

const MAX_TEXT = 128;

/**
 * Five fields, or six with seconds first. `?` stands for the time at which the pattern is read, and `@` for names of which some
 * are no times: both would mean something else after a restart.
 */
export const parseSchedule: ParseSchedule = (text) => {
  if (text.length > MAX_TEXT) return { problem: `it is longer than ${MAX_TEXT} characters` };
  if (/[?@]/.test(text)) return { problem: '"?" and names such as @daily are not taken' };
  try {
    return scheduleOf(new Cron(text, { timezone: 'UTC', mode: '5-or-6-parts' }));
  } catch (error) {
    const problem = messageOf(error);
    return { problem: withoutTrailing(problem.replace(/^\w+: /, ''), '.') };
  }
};

function scheduleOf(cron: Cron): CronSchedule {
  return { nextAfter: (ms) => cron.nextRun(new Date(ms))?.getTime() };
}
