export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** One JSON object per line. Fields are scalars by type, so that no message, spec or environment is ever passed whole. */
export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

export function makeLog(threshold: LogLevel, write: (line: string) => void): Log {
  const lowest = LOG_LEVELS.indexOf(threshold);
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (LOG_LEVELS.indexOf(level) < lowest) return;
      write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Of an error of the system: `ENOENT` and the like. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
