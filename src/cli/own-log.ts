import type { Option } from './command.ts';
import { AGENT_LOST, endsByStop } from '../core/contract/log-end.ts';
import { LOG_LEVELS } from '../core/model/log-level.ts';
import { parseDuration } from '../core/model/quantity.ts';
import { RAISED } from '../core/operations/queries.ts';
import { parsedRecord } from '../core/model/values.ts';
import type { Frame } from '../sdk/index.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { usage } from './failure.ts';
import { textOf } from './fields.ts';
import { unread } from './log-source.ts';
import type { OptionValues } from './option-values.ts';
import type { Session } from './session.ts';
import { printable } from './style.ts';
import { wholeNumber } from './commands/run.ts';

/** Of commands that read the log of Berth itself. */
export const OWN_LOG_OPTIONS: readonly Option[] = [
  { flags: '-f, --follow', description: 'Stay, and print new lines. Ctrl-C ends it.' },
  {
    flags: '--level <level>',
    description: `Lines of this level and above: ${LOG_LEVELS.join(', ')}. Below the configured level it is raised for you alone, while you follow. Default: info.`,
    values: LOG_LEVELS,
  },
  {
    flags: '--for <duration>',
    description: `With --follow: end after this time, e.g. 5m; at most ${RAISED.most}. Default: ${RAISED.usual}.`,
  },
  { flags: '--tail <n>', description: 'Lines from before. Default: 100.' },
];

export function levelOption(options: OptionValues): (typeof LOG_LEVELS)[number] | undefined {
  const text = options.text('level');
  if (text === undefined) return undefined;
  const level = LOG_LEVELS.find((one) => one === text);
  if (level === undefined) throw usage(`--level ${text}: expected one of ${LOG_LEVELS.join(', ')}`);
  return level;
}

export function spanOption(options: OptionValues): string | undefined {
  const text = options.text('for');
  if (text !== undefined && parseDuration(text) === undefined)
    throw usage(`--for ${text}: expected a duration such as 5m`);
  return text;
}

export function ownLogQuery(options: OptionValues) {
  const tail = options.text('tail');
  const follow = options.flag('follow');
  if (!follow && options.text('for') !== undefined)
    throw usage('--for says how long to follow: add --follow');
  return {
    follow: follow || undefined,
    level: levelOption(options),
    for: spanOption(options),
    tail: tail === undefined ? undefined : wholeNumber('--tail', tail),
  };
}

/** Lines to standard output, everything about them to standard error. */
export async function printOwnLog(session: Session, frames: AsyncIterable<Frame>): Promise<ExitCode> {
  const { terminal } = session;
  for await (const frame of frames) {
    if (endsByStop(frame)) throw unread();
    const { event, data } = frame;
    const entry = parsedRecord(data);
    if (event === 'log') terminal.out(`${printable(textOf(entry['line']))}\n`);
    else if (event === 'gap')
      terminal.err(`(${String(entry['lines'])} lines were dropped here: they were not read fast enough)\n`);
    else if (event === 'end') {
      const reason = textOf(entry['reason']);
      if (reason === AGENT_LOST.reason) throw unread(reason);
      if (reason !== 'kept lines only') terminal.err(`ended: ${printable(reason)}\n`);
      return EXIT.ok;
    }
  }
  terminal.err('the stream broke off\n');
  return EXIT.unreachable;
}
