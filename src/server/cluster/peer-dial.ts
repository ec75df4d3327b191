import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ControlPlaneRecord } from '../store/records.ts';
import { PEER_METHOD } from './peer-protocol.ts';

const { request } = process.getBuiltinModule('node:http');

const CONNECT_MS = 5000;
const KEEP_ALIVE_MS = 10_000;

/** With TLS, the certificate is one that this machine trusts or the one that the peer wrote down in the store; nothing is sent to another. */
export async function connected(
  url: URL,
  certificate: string | undefined,
  signal?: AbortSignal,
): Promise<Socket> {
  signal?.throwIfAborted();
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port === '' ? (secure ? 443 : 80) : url.port);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = secure
    ? connectTls({ host, port, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) })
    : connectPlain({ host, port });
  const timer = setTimeout(
    () => socket.destroy(new Error(`no connection to ${url.host} within ${CONNECT_MS} ms`)),
    CONNECT_MS,
  );
  const given = (): void => void socket.destroy(new Error('the asker left'));
  signal?.addEventListener('abort', given, { once: true });
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
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
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', given);
  });
}

export interface PeerRequest {
  readonly path: string;
  readonly proof: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

export async function askPeer(peer: ControlPlaneRecord, asked: PeerRequest): Promise<IncomingMessage> {
  const url = new URL(asked.path, peer.url);
  const socket = await connected(url, peer.certificate, asked.signal);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request({
    method: PEER_METHOD,
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
