/** A cron schedule as the rest of the product sees it: times in UTC, in milliseconds. */
export interface CronSchedule {
  /** The first slot after the given time; undefined: there is none any more. */
  nextAfter(ms: number): number | undefined;
}

/** The parser is a library, and core imports none: it is handed in. */
export type ParseSchedule = (text: string) => CronSchedule | { readonly problem: string };
