import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** One proof is taken once; so many are remembered. */
const REMEMBERED = 100_000;

function proofOf(tokenKey: Buffer, to: string, nonce: string, body: string): Buffer {
  const digest = createHash('sha256').update(body).digest('hex');
  return createHmac('sha256', tokenKey).update(`berth control plane\n${to}\n${nonce}\n${digest}`).digest();
}

/** What a control plane sends to another to be believed: both hold the token key, which never travels. */
export function prove(tokenKey: Buffer, to: string, body: string): string {
  const nonce = randomBytes(16).toString('hex');
  return `${nonce}.${proofOf(tokenKey, to, nonce, body).toString('hex')}`;
}

/** Bound to this very process and to the body, and good once: what was overheard opens nothing. */
export class PeerProofs {
  readonly #tokenKey: Buffer;
  readonly #self: string;
  readonly #seen = new Set<string>();

  constructor(tokenKey: Buffer, self: string) {
    this.#tokenKey = tokenKey;
    this.#self = self;
  }

  holds(proof: string | undefined, body: string): boolean {
    const [nonce = '', mac = ''] = (proof ?? '').split('.');
    if (!/^[0-9a-f]{32}$/.test(nonce) || !/^[0-9a-f]{64}$/.test(mac) || this.#seen.has(nonce)) return false;
    if (!timingSafeEqual(Buffer.from(mac, 'hex'), proofOf(this.#tokenKey, this.#self, nonce, body)))
      return false;
    // Full: the oldest is forgotten. Sets keep the order of insertion.
    for (const oldest of this.#seen) {
      if (this.#seen.size < REMEMBERED) break;
      this.#seen.delete(oldest);
    }
    this.#seen.add(nonce);
    return true;
  }
}
