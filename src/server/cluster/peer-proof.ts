import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** A proof is accepted once; this many are remembered. */
const REMEMBERED = 100_000;

/** What a control plane writes down of itself, so that others know which proof it reads. */
export const PROOF_FORM = 2;

/** What is asked of another control plane. */
export interface ProvenRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

function macOf(tokenKey: Buffer, lines: readonly string[]): Buffer {
  return createHmac('sha256', tokenKey).update(lines.join('\n')).digest();
}

function proofOf(tokenKey: Buffer, to: string, nonce: string, { method, path, body }: ProvenRequest): Buffer {
  const digest = createHash('sha256').update(body).digest('hex');
  return macOf(tokenKey, [`berth control plane ${PROOF_FORM}`, to, nonce, method, path, digest]);
}

/** As the first releases made it: the body alone is bound. */
function firstProofOf(tokenKey: Buffer, to: string, nonce: string, { body }: ProvenRequest): Buffer {
  const digest = createHash('sha256').update(body).digest('hex');
  return macOf(tokenKey, ['berth control plane', to, nonce, digest]);
}

export interface Receiver {
  readonly id: string;
  /** As its record says; absent: it is of a release that reads the first form only. */
  readonly form: number | undefined;
}

/** What a control plane sends to another to be believed: both hold the token key, which never travels. */
export function prove(tokenKey: Buffer, { id, form = 1 }: Receiver, request: ProvenRequest): string {
  const nonce = randomBytes(16).toString('hex');
  if (form < PROOF_FORM) return `${nonce}.${firstProofOf(tokenKey, id, nonce, request).toString('hex')}`;
  return `${PROOF_FORM}.${nonce}.${proofOf(tokenKey, id, nonce, request).toString('hex')}`;
}

/** Bound to this very process and to what is asked, and good once: what was overheard opens nothing. */
export class PeerProofs {
  readonly #tokenKey: Buffer;
  readonly #self: string;
  readonly #takesFirstForm: () => boolean;
  readonly #seen = new Set<string>();

  /** `takesFirstForm`: while a control plane of an older release is among them, during a rolling upgrade. */
  constructor(tokenKey: Buffer, self: string, takesFirstForm: () => boolean) {
    this.#tokenKey = tokenKey;
    this.#self = self;
    this.#takesFirstForm = takesFirstForm;
  }

  holds(proof: string | undefined, request: ProvenRequest): boolean {
    const parts = (proof ?? '').split('.');
    const isFirstForm = parts.length === 2;
    const [nonce = '', mac = ''] = isFirstForm
      ? parts
      : parts[0] === String(PROOF_FORM)
        ? parts.slice(1)
        : [];
    if (parts.length > 3 || (isFirstForm && !this.#takesFirstForm())) return false;
    if (!/^[0-9a-f]{32}$/.test(nonce) || !/^[0-9a-f]{64}$/.test(mac) || this.#seen.has(nonce)) return false;
    const expected = (isFirstForm ? firstProofOf : proofOf)(this.#tokenKey, this.#self, nonce, request);
    if (!timingSafeEqual(Buffer.from(mac, 'hex'), expected)) return false;
    // Full: the oldest is forgotten. Sets keep the order of insertion.
    for (const oldest of this.#seen) {
      if (this.#seen.size < REMEMBERED) break;
      this.#seen.delete(oldest);
    }
    this.#seen.add(nonce);
    return true;
  }
}
