import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Pem } from './route.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]{1,20000}-----END CERTIFICATE-----/g;
const KEY =
  /-----BEGIN (?:[A-Z]{2,9} )?PRIVATE KEY-----[^-]{1,20000}-----END (?:[A-Z]{2,9} )?PRIVATE KEY-----/g;

export interface CertificateFacts {
  readonly issuer: string;
  readonly notAfter: string;
}

/** Certificates and their key out of one text, in any order. Throws with what is wrong. */
export function pemOf(text: string): Pem {
  const certificates = text.match(CERTIFICATE) ?? [];
  const [key, another] = text.match(KEY) ?? [];
  if (certificates.length === 0) throw new Error('it holds no certificate (-----BEGIN CERTIFICATE-----)');
  if (key === undefined) throw new Error('it holds no private key (-----BEGIN PRIVATE KEY-----)');
  if (another !== undefined) throw new Error('it holds more than one private key');
  return { certificate: `${certificates.join('\n')}\n`, key: `${key}\n` };
}

/** One that Caddy would not take would keep all others from being loaded. */
export function certificateProblem({ certificate, key }: Pem, host: string): string | undefined {
  try {
    const first = new X509Certificate(certificate);
    if (!first.checkPrivateKey(createPrivateKey(key)))
      return 'its private key belongs to another certificate';
    if (first.checkHost(host) === undefined) return `its certificate is not for ${host}`;
    return undefined;
  } catch {
    return 'its certificate or key cannot be read';
  }
}

/** The first of the text; undefined: there is none. */
export function certificateFacts(certificate: string): CertificateFacts | undefined {
  try {
    const { issuer, validToDate } = new X509Certificate(certificate);
    return { issuer: issuerName(issuer), notAfter: validToDate.toISOString() };
  } catch {
    return undefined;
  }
}

function issuerName(lines: string): string {
  const parts = new Map(
    lines.split('\n').flatMap((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
  return (parts.get('CN') ?? parts.get('O') ?? lines.replaceAll('\n', ', ')).slice(0, 200);
}
