import { createSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';

/** Clients wait for two seconds and ask again: the next resolver is asked before that, beside the first. */
const NEXT_MS = 700;
const WHOLE_MS = 5_000;

type Ask = (resolver: string, port: number, data: Buffer, signal: AbortSignal) => Promise<Buffer>;

/** The first answer of the machine's resolvers, each asked a moment after the one before it. */
export async function forwarded(
  data: Buffer,
  over: 'udp' | 'tcp',
  resolvers: readonly string[],
  port = 53,
): Promise<Buffer> {
  const ask: Ask = over === 'udp' ? askByUdp : askByTcp;
  const answered = new AbortController();
  const signal = AbortSignal.any([answered.signal, AbortSignal.timeout(WHOLE_MS)]);
  try {
    return await Promise.any(
      resolvers.map(async (resolver, at) => {
        await pause(at * NEXT_MS, signal);
        return await ask(resolver, port, data, signal);
      }),
    );
  } finally {
    answered.abort();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    onAbort(signal, () => {
      clearTimeout(timer);
      reject(new Error('over'));
    });
  });
}

function onAbort(signal: AbortSignal, work: () => void): void {
  if (signal.aborted) work();
  else signal.addEventListener('abort', work, { once: true });
}

const askByUdp: Ask = (resolver, port, data, signal) =>
  new Promise((resolve, reject) => {
    const socket = createSocket(resolver.includes(':') ? 'udp6' : 'udp4');
    let isOpen = true;
    const close = (): void => {
      if (isOpen) socket.close();
      isOpen = false;
      reject(new Error('no answer'));
    };
    socket.on('error', close);
    // A port of its own for every question, and the answer from there alone.
    socket.connect(port, resolver, () => {
      if (isOpen) socket.send(data);
    });
    socket.on('message', (answer) => {
      if (answer.length < 2 || answer.readUInt16BE(0) !== data.readUInt16BE(0)) return;
      resolve(answer);
      close();
    });
    onAbort(signal, close);
  });

const askByTcp: Ask = (resolver, port, data, signal) =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: resolver });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
    socket.once('connect', () => socket.write(framed(data)));
    onFrames(socket, (answer) => {
      resolve(answer);
      socket.destroy();
    });
    onAbort(signal, () => socket.destroy());
  });

/** By TCP, every message has its length before it. */
export function framed(data: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length, 0);
  return Buffer.concat([length, data]);
}

export function onFrames(socket: Socket, take: (data: Buffer) => void): void {
  let held = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
      const end = 2 + held.readUInt16BE(0);
      take(held.subarray(2, end));
      held = held.subarray(end);
    }
  });
}
