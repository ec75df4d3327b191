import { createHash } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ControlPlaneRecord } from '../store/records.ts';

const CONNECT_MS = 5000;

/** With TLS, the certificate is one that this machine trusts or the one that the peer wrote down in the store; nothing is sent to another. */
export async function connected(url: URL, certificate: string | undefined): Promise<Socket> {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port === '' ? (secure ? 443 : 80) : url.port);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = secure
    ? connectTls({ host, port, rejectUnauthorized: false })
    : connectPlain({ host, port });
  const timer = setTimeout(
    () => socket.destroy(new Error(`no connection to ${url.host} within ${CONNECT_MS} ms`)),
    CONNECT_MS,
  );
  socket.once('error', reject);
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    socket.off('error', reject);
    const shown = 'getPeerX509Certificate' in socket ? socket.getPeerX509Certificate() : undefined;
    const digest = shown && createHash('sha256').update(shown.raw).digest('hex');
    const isTrusted = 'authorized' in socket && socket.authorized;
    if (digest === certificate || isTrusted) resolve(socket);
    else {
      socket.destroy();
      reject(new Error(`${url.host} shows another certificate than the control plane wrote down`));
    }
  });
  return promise.finally(() => clearTimeout(timer));
}

export interface PeerRequest {
  readonly path: string;
  readonly proof: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

export async function askPeer(peer: ControlPlaneRecord, asked: PeerRequest): Promise<IncomingMessage> {
  const url = new URL(asked.path, peer.url);
  const socket = await connected(url, peer.certificate);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request({
    method: 'POST',
    path: url.pathname,
    headers: {
      host: url.host,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(asked.body),
      'berth-control-plane': asked.proof,
      connection: 'close',
    },
    createConnection: () => socket,
    signal: asked.signal,
  });
  outgoing.once('response', resolve);
  outgoing.on('error', reject);
  outgoing.end(asked.body);
  return promise;
}
