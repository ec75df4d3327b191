import { received, redacted } from '../../rejections/redaction.ts';

/** Where a rule looks: the prefix of its field paths, and how a refused value may be shown there. */
export interface Place {
  readonly prefix: string;
  readonly show: (value: unknown) => string;
}

export function entryPlace(index: number): Place {
  return { prefix: `secrets[${index}].`, show: received };
}

/** Nothing of a secret write is echoed, not even its numbers. */
export const WRITE_PLACE: Place = { prefix: '', show: redacted };
