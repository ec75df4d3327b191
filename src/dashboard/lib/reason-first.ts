import { reasonOf } from '../../core/model/reason.ts';

/** As a sentence. */
export function reasonFirst(message: string): string {
  const text = reasonOf(message);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
