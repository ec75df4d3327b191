import { createHmac, timingSafeEqual } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import {
  encodeLeaseDatagram,
  type LeaseDatagram,
  MAX_LEASE_DATAGRAM,
  provenText,
  decodeLeaseDatagram,
} from '../../../core/protocol/lease-datagram.ts';
import { LeasePermit } from './lease-permit.ts';

export interface LeaseThreadData {
  readonly host: string;
  readonly port: number;
}

export type ToLeaseThread =
  | {
      readonly kind: 'open';
      readonly id: string;
      readonly key: Uint8Array;
      readonly permit: SharedArrayBuffer;
    }
  | { readonly kind: 'close'; readonly id: string };

export type FromLeaseThread = { readonly port: number };

interface Known {
  readonly key: Uint8Array;
  readonly permit: LeasePermit;
  beat: number;
}

/**
 * Repeats the leases that the control plane gave, while its event loop is held. It decides nothing: whom it may answer, and until
 * when, is in memory that the control plane shares with it.
 */
function serve({ host, port }: LeaseThreadData): void {
  const known = new Map<string, Known>();
  const proofOf = (key: Uint8Array, datagram: Omit<LeaseDatagram, 'proof'>): Buffer =>
    createHmac('sha256', key).update(provenText(datagram)).digest();
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.on('message', (bytes, from) => {
    const datagram =
      bytes.length > MAX_LEASE_DATAGRAM ? undefined : decodeLeaseDatagram(bytes.toString('latin1'));
    const session = datagram?.kind === 'ask' ? known.get(datagram.id) : undefined;
    if (datagram === undefined || session === undefined || datagram.beat <= session.beat) return;
    const sent = Buffer.from(datagram.proof, 'base64url');
    const expected = proofOf(session.key, datagram);
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return;
    session.beat = datagram.beat;
    if (!session.permit.give(process.hrtime.bigint())) return;
    const answer = { kind: 'lease', id: datagram.id, beat: datagram.beat } as const;
    const proof = proofOf(session.key, answer).toString('base64url');
    socket.send(encodeLeaseDatagram({ ...answer, proof }), from.port, from.address, () => undefined);
  });
  parentPort?.on('message', (message: ToLeaseThread) => {
    if (message.kind === 'close') known.delete(message.id);
    else known.set(message.id, { key: message.key, permit: new LeasePermit(message.permit), beat: 0 });
  });
  socket.on('error', (error) => {
    throw error;
  });
  socket.bind(port, host, () => {
    const ready: FromLeaseThread = { port: socket.address().port };
    parentPort?.postMessage(ready, []);
  });
}

serve(workerData as LeaseThreadData);
