import type { LogLine, LogOptions } from './engine.ts';
import type { EngineConnection } from './engine-connection.ts';
import { EngineUnavailableError } from './errors.ts';
import { optional } from '../../core/model/values.ts';
import { FrameDecoder } from './frames.ts';
import { type LogEntry, logEntry } from './log-entry.ts';
import { followed } from './log-follow.ts';
import { LineAssembler } from './log-lines.ts';
import { seconds } from './transport.ts';

const MAX_LINE_BYTES = 64 * 1024;

/** Nothing is read ahead of the consumer: what it leaves stays in the engine and in the socket. */
export async function* containerLogs(
  connection: EngineConnection,
  id: string,
  options: LogOptions,
  tty: boolean,
): AsyncGenerator<LogLine> {
  const lines = new LineAssembler(MAX_LINE_BYTES);
  if (options.follow !== true || tty) {
    for await (const entry of logEntries(connection, id, options, tty)) yield* lines.push(entry);
  } else {
    for await (const entry of followed((reading) => logEntries(connection, id, reading, tty), options)) {
      if ('gap' in entry) yield { stream: 'stderr', line: '', partial: false, gap: entry.gap };
      else yield* lines.push(entry);
    }
  }
  yield* lines.end();
}

async function* logEntries(
  connection: EngineConnection,
  id: string,
  options: LogOptions,
  tty: boolean,
): AsyncGenerator<LogEntry> {
  const stream = await connection.stream({
    ...optional('signal', options.signal),
    method: 'GET',
    segments: ['containers', id, 'logs'],
    query: {
      stdout: true,
      stderr: true,
      follow: options.follow ?? false,
      timestamps: !tty,
      tail: options.tail ?? 'all',
      ...optional('since', options.sinceMs === undefined ? undefined : seconds(options.sinceMs)),
    },
  });
  const frames = new FrameDecoder({ whole: true });
  for await (const chunk of stream) {
    if (tty) yield { stream: 'stdout', text: chunk };
    else for (const frame of frames.push(chunk)) yield logEntry(frame);
  }
  if (!frames.atBoundary) throw new EngineUnavailableError('the log was cut');
}
