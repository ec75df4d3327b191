import type { Alteration } from '../model/announcement.ts';
import type { Rejection } from '../rejections/rejection.ts';

/** An inert check is refused at its type and shows its command. */
const SHOWN_IN: Readonly<Record<string, string>> = { 'healthCheck.type': 'healthCheck.command' };

/** Rules check the altered draft; `received` is the value that the client sent. */
export function asSent(rejection: Rejection, alterations: readonly Alteration[]): Rejection {
  const { field, received } = rejection;
  const altered = alterations.find(
    (alteration) =>
      alteration.to === received && (alteration.field === field || alteration.field === SHOWN_IN[field]),
  );
  return altered === undefined ? rejection : { ...rejection, received: altered.from };
}
