import pino, { type DestinationStream, type Logger } from 'pino';
import { LogFeed } from '../core/contract/log-feed.ts';
import { LOG_LEVELS, type LogLevel } from '../core/model/log-level.ts';
import { MAX_OWN_TAIL } from '../core/operations/queries.ts';
import { lineTime } from './log-lines.ts';

const FEED_BOUNDS = { lines: MAX_OWN_TAIL, bytes: 2 ** 20, readerBytes: 2 ** 20, readers: 8 };
const LEVEL_MEMBER = '{"level":';
/** `trace` is read with `debug`, `fatal` with `error`. */
const FIRST_NUMBER: readonly (readonly [number, LogLevel])[] = [
  [50, 'error'],
  [40, 'warn'],
  [30, 'info'],
];

function levelOf(line: string): LogLevel {
  const number = line.startsWith(LEVEL_MEMBER) ? Number.parseInt(line.slice(LEVEL_MEMBER.length), 10) : 30;
  return FIRST_NUMBER.find(([first]) => number >= first)?.[1] ?? 'debug';
}

function configured(level: string): LogLevel | undefined {
  if (level === 'trace') return 'debug';
  return level === 'fatal' ? 'error' : LOG_LEVELS.find((one) => one === level);
}

export interface OwnLog {
  readonly log: Logger;
  readonly feed: LogFeed;
  readonly line: InfoLine;
}

/** A line of level `info` whose members are text already, without the braces: what is said elsewhere too is written out once. */
export type InfoLine = (members: string, message: string) => void;

const PROGRAM = 'berth-server';

/** The log of this process, and how others read it while it runs. What is below the configured level goes to its readers alone. */
export function ownLog(level: string, destination: DestinationStream): OwnLog {
  const usual = configured(level);
  const feed = new LogFeed(usual, FEED_BOUNDS, (wanted) => {
    const isLower =
      wanted !== undefined && (usual === undefined || LOG_LEVELS.indexOf(wanted) < LOG_LEVELS.indexOf(usual));
    log.level = isLower ? wanted : level;
  });
  const write = (line: string): void => {
    if (feed.add(levelOf(line), line.trimEnd())) destination.write(line);
  };
  const log = pino({ level, base: { program: PROGRAM }, timestamp: lineTime }, { write });
  const line: InfoLine = (members, message) => {
    if (!log.isLevelEnabled('info')) return;
    const text = `${LEVEL_MEMBER}30${lineTime()},"program":"${PROGRAM}",${members},"msg":"${message}"}`;
    if (feed.add('info', text)) destination.write(`${text}\n`);
  };
  return { log, feed, line };
}
