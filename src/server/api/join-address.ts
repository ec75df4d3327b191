import { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;
const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';

/** `sha256:<hex>` of the last certificate of the chain: the issuer's outlives renewals of the server's own. */
export function caDigestOf(chain: string): string | undefined {
  const end = chain.lastIndexOf(END);
  const begin = chain.lastIndexOf(BEGIN, end);
  if (begin === -1 || begin > end) return undefined;
  return `sha256:${new X509Certificate(chain.slice(begin, end + END.length)).fingerprint256.replaceAll(':', '').toLowerCase()}`;
}

/** The configured address, or the one that the caller used. */
export function baseUrlOfHeaders(
  headers: IncomingHttpHeaders,
  configured: string | undefined,
  tls: boolean,
): string {
  if (configured !== undefined) return configured;
  const { host } = headers;
  return `${tls ? 'https' : 'http'}://${host !== undefined && HOST.test(host) ? host : 'localhost'}`;
}
