import { shortId } from '../../core/model/instance-name.ts';

const ID = /\b[a-z]{3,4}_[0-9a-z]{26}\b/g;

/** A message of a list with its ids as pages call them: whole, they push what happened out of sight. */
export function shortIds(message: string): string {
  return message.replace(ID, shortId);
}
