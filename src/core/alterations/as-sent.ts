import type { Alteration } from '../model/announcement.ts';
import { isEnginePrefix } from '../model/engine-prefix.ts';
import { isRecord, textsIn } from '../model/values.ts';
import { received } from '../rejections/redaction.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { storedAsId } from './volume-names.ts';

/** An inert check is refused at its type and shows its command. */
const SHOWN_IN: Readonly<Record<string, string>> = { 'healthCheck.type': 'healthCheck.command' };

type Sent = Readonly<Record<string, unknown>>;

/** Rules check the altered draft; `field` and `received` are what the client sent. `sent`: rules that need facts are told without it. */
export function asSent(checked: Rejection, alterations: readonly Alteration[], sent?: Sent): Rejection {
  const field = sentField(checked.field, alterations, sent);
  const whole = wholeList(checked, alterations, sent);
  if (whole !== undefined) return { ...checked, received: received(whole) };
  const altered = alterations.find(
    (alteration) =>
      (alteration.to === checked.received || alteration.to === storedAsId(checked.received)) &&
      (alteration.field === field || alteration.field === SHOWN_IN[field]),
  );
  return { ...checked, field, ...(altered && { received: altered.from }) };
}

function sentField(field: string, alterations: readonly Alteration[], sent: Sent | undefined): string {
  const isAltered = (one: string): boolean => alterations.some((alteration) => alteration.field === one);
  // One object in the place of a list has fields without an index.
  if (isAltered('ingress')) return field.replace('ingress[0].', 'ingress.');
  const named = field.replace(/^(volumes\[\d+\])\.volumeId$/, '$1.volume');
  if (named !== field && isAltered(named)) return named;
  const word = /^healthCheck\.command\[(\d+)\]$/.exec(field)?.[1];
  if (word === undefined || !isAltered('healthCheck.command')) return field;
  return `healthCheck.command[${Number(word) + prefixesIn(sent)}]`;
}

/** Words that were dropped in front of the command. */
function prefixesIn(sent: Sent | undefined): number {
  const check = sent?.['healthCheck'];
  const words = textsIn(isRecord(check) ? check['command'] : undefined);
  return Math.max(
    0,
    words.findIndex((word) => !isEnginePrefix(word)),
  );
}

/** A list that is shown as JSON has what was filled in inside its items. */
function wholeList({ field, received: shown }: Rejection, alterations: readonly Alteration[], sent?: Sent) {
  const inside = alterations.some((alteration) => alteration.field.startsWith(`${field}[`));
  return inside && shown.startsWith('[') ? sent?.[field] : undefined;
}
