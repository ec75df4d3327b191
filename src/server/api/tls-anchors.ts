import { errnoOf, messageOf } from '../../core/model/values.ts';
import { createHash, X509Certificate } from 'node:crypto';
import { getCACertificates, rootCertificates } from 'node:tls';
import type { Logger } from 'pino';
import { ConfigError } from '../config-values.ts';
import { caDigestOf } from './join-address.ts';

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
 * The public keys by which agents know the control plane, base64 of their SPKI form: of each certificate that it shows or will show, and of
 * those that signed it up to the root. A renewal that keeps any one of them strands no agent.
 */
function tlsAnchors(chains: readonly string[]): readonly string[] {
  const all = chains.map(certificatesOf).flatMap((chain) => [...chain, knownRoot(chain.at(-1))]);
  return [...new Set(all.filter((one) => one !== undefined).map(keyOf))].slice(0, MAX_ANCHORS);
}

interface CertificateFiles {
  /** Of this control plane itself; absent without TLS. */
  readonly cert?: string;
  readonly next?: string;
  /** What ends TLS in front of it shows this one. */
  readonly front?: string;
}

/** Kept from the files; what cannot be read changes nothing. */
export class TlsAnchors {
  readonly #files: CertificateFiles;
  readonly #seen: string | undefined;
  readonly #readFile: (path: string) => string;
  readonly #log: Logger;
  keys: readonly string[] = [];
  /** Of what agents see when they join; undefined: whom they trust is a matter of their machine. */
  digest: string | undefined;

  /** Behind the router of cells (`isCell`) agents do not see `cert`. */
  constructor(files: CertificateFiles, isCell: boolean, readFile: (path: string) => string, log: Logger) {
    this.#files = files;
    this.#seen = files.front ?? (isCell ? undefined : files.cert);
    this.#readFile = readFile;
    this.#log = log;
    if (files.front !== undefined) this.#check(files.front);
    this.read();
  }

  /** True: they are others than before. */
  read(): boolean {
    let keys: readonly string[];
    try {
      const { front, cert } = this.#files;
      const files = [front, cert].filter((file) => file !== undefined);
      const chains = new Map(files.map((file) => [file, this.#read(file)]));
      keys = tlsAnchors([...chains.values(), this.#next()]);
      this.digest = caDigestOf(chains.get(this.#seen ?? '') ?? '');
    } catch (error) {
      this.#log.error({ err: error, ...this.#files }, 'the keys of the certificates cannot be read');
      return false;
    }
    if (keys.join() === this.keys.join()) return false;
    this.keys = keys;
    this.#log.info({ pins: keys.map(digestOf) }, 'agents know this control plane by these keys');
    return true;
  }

  /** At the start: later a file may be half written. */
  #check(front: string): void {
    try {
      this.#read(front);
    } catch (error) {
      throw new ConfigError(`baseUrlCertificate ${front} cannot be used: ${messageOf(error)}`);
    }
  }

  /** One that is being written anew may be empty for a moment. */
  #read(file: string): string {
    const text = this.#readFile(file);
    if (certificatesOf(text).length === 0) throw new Error(`${file} holds no certificate`);
    return text;
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
