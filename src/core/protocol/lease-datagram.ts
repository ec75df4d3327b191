/**
 * A datagram between an agent and the thread that repeats leases: `<kind>|<id>|<beat>|<proof>`. The proof is made with a key of
 * the session that only the two know; nothing in it is secret.
 */
export interface LeaseDatagram {
  readonly kind: 'ask' | 'lease';
  /** Of the session, as the `lease` message named it. */
  readonly id: string;
  /** Counts up: an older one is not answered again. */
  readonly beat: number;
  readonly proof: string;
}

export const MAX_LEASE_DATAGRAM = 256;

const FORM = /^(ask|lease)\|([0-9a-f]{32})\|(\d{1,15})\|([\w-]{43})$/;

/** What the proof is made of. */
export function provenText({ kind, id, beat }: Omit<LeaseDatagram, 'proof'>): string {
  return `${kind}|${id}|${beat}`;
}

export function encodeLeaseDatagram(datagram: LeaseDatagram): string {
  return `${provenText(datagram)}|${datagram.proof}`;
}

export function decodeLeaseDatagram(text: string): LeaseDatagram | undefined {
  if (text.length > MAX_LEASE_DATAGRAM) return undefined;
  const [, kind, id = '', beat, proof = ''] = FORM.exec(text) ?? [];
  return kind === 'ask' || kind === 'lease' ? { kind, id, beat: Number(beat), proof } : undefined;
}
