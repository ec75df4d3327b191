import { createHash, X509Certificate } from 'node:crypto';
import { connect as connectPlain, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls';

const CONNECT_DEADLINE_MS = 10_000;

export class WrongCertificateError extends Error {
  override readonly name = 'WrongCertificateError';
}

type Connected = (error: Error | null, socket?: Socket) => void;

/**
 * A connection for one request or WebSocket. With a pin, it is handed out only after the certificate has proved to be the
 * pinned one, so that no token ever reaches an impostor (fault-catalogue E-08).
 */
export function dialer(
  server: URL,
  caDigest: string | undefined,
): (options: unknown, done: Connected) => undefined {
  return (_options, done) => {
    const secure = server.protocol === 'https:';
    const host = server.hostname.replace(/^\[|\]$/g, '');
    const port = Number(server.port === '' ? (secure ? 443 : 80) : server.port);
    const socket = secure
      ? connectTls({ host, port, rejectUnauthorized: caDigest === undefined, ...serverName(host) })
      : connectPlain({ host, port });
    const timer = setTimeout(() => {
      socket.destroy(new Error(`no connection to ${server.host} in ${CONNECT_DEADLINE_MS} ms`));
    }, CONNECT_DEADLINE_MS);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      done(error);
    };
    socket.once('error', fail);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      const problem = caDigest === undefined ? undefined : pinProblem(socket as TLSSocket, host, caDigest);
      if (problem === undefined) {
        socket.setNoDelay(true);
        done(null, socket);
        return;
      }
      socket.on('error', () => {});
      socket.destroy();
      done(new WrongCertificateError(problem));
    });
  };
}

function serverName(host: string): { readonly servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}

/**
 * The chain is walked by signatures, not by what the server sends along: otherwise an impostor would show the pinned issuer
 * beside a certificate of his own. Dates do not count, so that a node is never stranded by them (fault-catalogue R14).
 */
function pinProblem(socket: TLSSocket, host: string, caDigest: string): string | undefined {
  const seen: string[] = [];
  let shown = socket.getPeerCertificate(true);
  let certificate = new X509Certificate(shown.raw);
  const leaf = shown;
  for (let depth = 0; depth < 8; depth += 1) {
    const found = `sha256:${createHash('sha256').update(certificate.raw).digest('hex')}`;
    seen.push(found);
    if (found === caDigest) return depth === 0 ? undefined : checkServerIdentity(host, leaf)?.message;
    const parent = shown.issuerCertificate;
    if (parent?.raw === undefined || parent.raw.equals(certificate.raw)) break;
    const issuer = new X509Certificate(parent.raw);
    if (!issuer.ca || !certificate.verify(issuer.publicKey)) break;
    [shown, certificate] = [parent, issuer];
  }
  return `the certificate of ${host} is not the pinned one: expected ${caDigest}, got ${seen.join(', ')}`;
}
