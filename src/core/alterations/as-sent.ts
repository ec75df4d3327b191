import type { Alteration } from '../model/announcement.ts';
import type { Rejection } from '../rejections/rejection.ts';

/** An inert check is refused at its type and shows its command. */
const SHOWN_IN: Readonly<Record<string, string>> = { 'healthCheck.type': 'healthCheck.command' };

/** Rules check the altered draft; `received` is the value that the client sent. */
export function asSent(checked: Rejection, alterations: readonly Alteration[]): Rejection {
  const rejection = { ...checked, field: sentField(checked.field, alterations) };
  const { field, received } = rejection;
  const altered = alterations.find(
    (alteration) =>
      alteration.to === received && (alteration.field === field || alteration.field === SHOWN_IN[field]),
  );
  return altered === undefined ? rejection : { ...rejection, received: altered.from };
}

/** One object in the place of a list has fields without an index. */
function sentField(field: string, alterations: readonly Alteration[]): string {
  const sentAlone = alterations.some((alteration) => alteration.field === 'ingress');
  return sentAlone ? field.replace('ingress[0].', 'ingress.') : field;
}
