import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { checkServerIdentity, type TLSSocket } from 'node:tls';

import { DIRECT, type WayOut } from './proxy.ts';

const MAX_DEPTH = 8;
const MAX_ANCHORS = 16;
const MAX_ANCHOR_LENGTH = 4096;
const ANCHOR = /^[A-Za-z0-9+/=]+$/;

/**
 * How this agent identifies the control plane: by the certificate whose digest it was given when it joined, and by the keys that the
 * control plane announced since over a connection proven by one of them. Without a digest the machine's trust store decides.
 */
export class Pins {
  readonly caDigest: string | undefined;
  /** How it is reached, and what the machine trusts besides: counts without a digest only. */
  readonly way: WayOut;
  #anchors: readonly string[];

  constructor(caDigest: string | undefined, anchors: readonly string[] = [], way: WayOut = DIRECT) {
    this.caDigest = caDigest;
    this.way = way;
    this.#anchors = anchors.filter(isAnchor).slice(0, MAX_ANCHORS);
  }

  get anchors(): readonly string[] {
    return this.#anchors;
  }

  /** New anchors replace the earlier ones. True: they differ. */
  learn(anchors: readonly string[]): boolean {
    const valid = anchors.filter(isAnchor).slice(0, MAX_ANCHORS);
    if (this.caDigest === undefined || valid.length === 0) return false;
    if (valid.join() === this.#anchors.join()) return false;
    this.#anchors = valid;
    return true;
  }

  /**
   * The chain is walked by signatures, not by what the server sends along: otherwise an impostor would show the pinned issuer
   * beside a certificate of his own. Dates do not count, so that a node is never stranded by them.
   */
  problem(socket: TLSSocket, host: string): string | undefined {
    if (this.caDigest === undefined) return undefined;
    const seen: string[] = [];
    let shown = socket.getPeerCertificate(true);
    let certificate = new X509Certificate(shown.raw);
    const leaf = shown;
    const named = (): string | undefined => checkServerIdentity(host, leaf)?.message;
    for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
      const found = `sha256:${createHash('sha256').update(certificate.raw).digest('hex')}`;
      seen.push(found);
      if (found === this.caDigest || this.#anchors.includes(keyText(certificate)))
        return depth === 0 ? undefined : named();
      const parent = shown.issuerCertificate;
      if (parent?.raw === undefined || parent.raw.equals(certificate.raw)) break;
      const issuer = new X509Certificate(parent.raw);
      if (!issuer.ca || !certificate.verify(issuer.publicKey)) break;
      [shown, certificate] = [parent, issuer];
    }
    // Chains leave their root out: its key is known all the same.
    if (this.#anchors.some((anchor) => isSignedBy(certificate, anchor))) return named();
    return `the certificate of ${host} is not the pinned one: expected ${this.caDigest}, got ${seen.join(', ')}`;
  }
}

function isAnchor(text: string): boolean {
  return text.length <= MAX_ANCHOR_LENGTH && ANCHOR.test(text);
}

function keyText({ publicKey }: X509Certificate): string {
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
}

function isSignedBy(certificate: X509Certificate, anchor: string): boolean {
  try {
    return certificate.verify(
      createPublicKey({ key: Buffer.from(anchor, 'base64'), format: 'der', type: 'spki' }),
    );
  } catch {
    return false;
  }
}
