import { LogFeed } from '../core/contract/log-feed.ts';
import { LOG_LEVELS, type LogLevel } from '../core/model/log-level.ts';

/** Most that an agent keeps of its own log, and for those who read it. */
const FEED_BOUNDS = { lines: 500, bytes: 128 * 1024, readerBytes: 256 * 1024, readers: 4 };

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** One JSON object per line. Fields are scalars by type, so that no message, spec or environment is ever passed whole. */
export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

export function makeLog(
  threshold: LogLevel,
  write: (line: string) => void,
): Log & { readonly feed: LogFeed } {
  const usual = LOG_LEVELS.indexOf(threshold);
  let lowest = usual;
  const feed = new LogFeed(threshold, FEED_BOUNDS, (wanted) => {
    lowest = wanted === undefined ? usual : Math.min(usual, LOG_LEVELS.indexOf(wanted));
  });
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (LOG_LEVELS.indexOf(level) < lowest) return;
      const line = JSON.stringify({ time: new Date().toISOString(), level, message, ...fields });
      if (feed.add(level, line)) write(`${line}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), feed };
}

/** Of an error of the system: `ENOENT` and the like. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
