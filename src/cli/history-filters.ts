import { SUBJECT_KINDS } from '../core/model/event.ts';
import { parseDuration } from '../core/model/quantity.ts';
import type { Option } from './command.ts';
import { usage } from './failure.ts';

export const SUBJECT_OPTION: Option = {
  flags: '--subject <name>',
  description: "Only about this record: web, or deployment/web; 'node/*' for all of a kind.",
};

export const SINCE_OPTION: Option = {
  flags: '--since <when>',
  description: 'Only from then on: a time (2026-01-31T12:00:00Z) or how long ago (15m).',
};

/** As lists show it, `deployment/web`; the control plane writes kinds with capitals. */
export function subjectOf(text: string | undefined): string | undefined {
  const end = text?.indexOf('/') ?? -1;
  if (text === undefined || end === -1) return text;
  const word = text.slice(0, end).toLowerCase();
  const kind = SUBJECT_KINDS.find((one) => one.toLowerCase() === word);
  return kind === undefined ? text : `${kind}${text.slice(end)}`;
}

export function sinceTime(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const ago = parseDuration(text);
  if (ago !== undefined) return new Date(now - ago).toISOString();
  if (Number.isNaN(Date.parse(text)))
    throw usage(
      `--since ${text}: expected a time such as 2026-01-31T12:00:00Z, or how long ago, such as 15m`,
    );
  return text;
}
