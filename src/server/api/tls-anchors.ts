import { errnoOf } from '../../core/model/values.ts';
import { createHash, X509Certificate } from 'node:crypto';
import { getCACertificates, rootCertificates } from 'node:tls';
import type { Logger } from 'pino';

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';
/** Agents take no more. */
const MAX_ANCHORS = 16;

function certificatesOf(pem: string): readonly X509Certificate[] {
  const texts = pem.split(END).slice(0, -1);
  return texts.map((text) => new X509Certificate(`${text.slice(text.lastIndexOf(BEGIN))}${END}`));
}

/** The root above a chain that leaves it out, as most do, if this machine knows it. */
function knownRoot(top: X509Certificate | undefined): X509Certificate | undefined {
  if (top === undefined || top.verify(top.publicKey)) return undefined;
  for (const text of [...rootCertificates, ...getCACertificates('system')]) {
    const root = new X509Certificate(text);
    if (root.subject === top.issuer && top.verify(root.publicKey)) return root;
  }
  return undefined;
}

function keyOf({ publicKey }: X509Certificate): string {
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
}

/**
 * The public keys by which agents know the control plane, base64 of their SPKI form: of its certificate and of those that signed it up to
 * the root, and of what it will show next. A renewal that keeps any one of them strands no agent.
 */
function tlsAnchors(chain: string, next = ''): readonly string[] {
  const [shown, later] = [certificatesOf(chain), certificatesOf(next)];
  const all = [...shown, knownRoot(shown.at(-1)), ...later, knownRoot(later.at(-1))];
  return [...new Set(all.filter((one) => one !== undefined).map(keyOf))].slice(0, MAX_ANCHORS);
}

/** Kept from the files; what cannot be read changes nothing. */
export class TlsAnchors {
  readonly #files: { readonly cert: string; readonly next?: string };
  readonly #readFile: (path: string) => string;
  readonly #log: Logger;
  keys: readonly string[] = [];

  constructor(
    files: { readonly cert: string; readonly next?: string },
    readFile: (path: string) => string,
    log: Logger,
  ) {
    this.#files = files;
    this.#readFile = readFile;
    this.#log = log;
    this.read();
  }

  /** True: they are others than before. */
  read(): boolean {
    let keys: readonly string[];
    try {
      keys = tlsAnchors(this.#readFile(this.#files.cert), this.#next());
    } catch (error) {
      this.#log.error({ err: error, ...this.#files }, 'the keys of the certificates cannot be read');
      return false;
    }
    if (keys.join() === this.keys.join()) return false;
    this.keys = keys;
    this.#log.info({ pins: keys.map(digestOf) }, 'agents know this control plane by these keys');
    return true;
  }

  /** Announced when there is something to announce. */
  #next(): string {
    if (this.#files.next === undefined) return '';
    try {
      return this.#readFile(this.#files.next);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return '';
      throw error;
    }
  }
}

function digestOf(key: string): string {
  return `sha256:${createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex')}`;
}
