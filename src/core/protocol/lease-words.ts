/**
 * What an agent and the thread that repeats leases say to each other, one datagram each: `<kind>|<id>|<beat>|<proof>`. The proof
 * is made with a key that only the two know, from the session; nothing in it is secret.
 */
export interface LeaseWord {
  readonly kind: 'ask' | 'lease';
  /** Of the session, as the `lease` message named it. */
  readonly id: string;
  /** Counts up: an older one is not answered again. */
  readonly beat: number;
  readonly proof: string;
}

export const MAX_LEASE_WORD = 256;

const WORD = /^(ask|lease)\|([0-9a-f]{32})\|(\d{1,15})\|([\w-]{43})$/;

/** What the proof is made of. */
export function provenText({ kind, id, beat }: Omit<LeaseWord, 'proof'>): string {
  return `${kind}|${id}|${beat}`;
}

export function leaseText(word: LeaseWord): string {
  return `${provenText(word)}|${word.proof}`;
}

export function readLeaseWord(text: string): LeaseWord | undefined {
  if (text.length > MAX_LEASE_WORD) return undefined;
  const [, kind, id = '', beat, proof = ''] = WORD.exec(text) ?? [];
  return kind === 'ask' || kind === 'lease' ? { kind, id, beat: Number(beat), proof } : undefined;
}
