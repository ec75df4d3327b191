import { createHmac, timingSafeEqual } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import {
  leaseText,
  type LeaseWord,
  MAX_LEASE_WORD,
  provenText,
  readLeaseWord,
} from '../../../core/protocol/lease-words.ts';
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
  const proofOf = (key: Uint8Array, word: Omit<LeaseWord, 'proof'>): Buffer =>
    createHmac('sha256', key).update(provenText(word)).digest();
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.on('message', (bytes, from) => {
    const word = bytes.length > MAX_LEASE_WORD ? undefined : readLeaseWord(bytes.toString('latin1'));
    const session = word?.kind === 'ask' ? known.get(word.id) : undefined;
    if (word === undefined || session === undefined || word.beat <= session.beat) return;
    const sent = Buffer.from(word.proof, 'base64url');
    const expected = proofOf(session.key, word);
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return;
    session.beat = word.beat;
    if (!session.permit.give(process.hrtime.bigint())) return;
    const answer = { kind: 'lease', id: word.id, beat: word.beat } as const;
    const proof = proofOf(session.key, answer).toString('base64url');
    socket.send(leaseText({ ...answer, proof }), from.port, from.address, () => undefined);
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
