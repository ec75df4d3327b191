import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { parseAddress } from '../../core/model/ipv4.ts';
import { type DnsQuestion, RCODE, readQuestion, TYPE, writeAnswer } from './dns-message.ts';
import { type Names, TTL_S } from './names.ts';

const PORT = 53;
const FORWARD_MS = 3_000;
/** Questions that wait for the machine's resolvers, and connections, of all containers together. */
const MAX_FORWARDED = 512;
const MAX_CONNECTIONS = 256;
const IDLE_MS = 10_000;
const MAX_TCP_BYTES = 4_096;

export interface NameServerOptions {
  readonly names: () => Names;
  /** Of the machine, in the order in which they are asked. */
  readonly resolvers: () => readonly string[];
}

/** Answers names of the tenant's network itself, and passes every other question on to the resolvers of the machine. */
export class NameServer {
  readonly #options: NameServerOptions;
  #udp: UdpSocket | undefined;
  #tcp: Server | undefined;
  #forwarded = 0;

  constructor(options: NameServerOptions) {
    this.#options = options;
  }

  async listen(address: string, port = PORT): Promise<void> {
    const udp = createSocket('udp4');
    udp.on('message', (data, from) => {
      this.#answer(data, 'udp', (answer) => udp.send(answer, from.port, from.address, () => {}));
    });
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject);
      udp.bind(port, address, resolve);
    });
    udp.removeAllListeners('error').on('error', () => {});
    this.#udp = udp;
    const tcp = createServer((socket) => this.#serve(socket));
    tcp.maxConnections = MAX_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      tcp.once('error', reject);
      tcp.listen(port, address, resolve);
    });
    tcp.removeAllListeners('error').on('error', () => {});
    this.#tcp = tcp;
  }

  close(): void {
    this.#udp?.close();
    this.#tcp?.close();
    this.#udp = undefined;
    this.#tcp = undefined;
  }

  #answer(data: Buffer, over: 'udp' | 'tcp', reply: (answer: Buffer) => void): void {
    const question = readQuestion(data);
    if (question === undefined) return;
    const found = this.#options.names().addresses(question.name);
    if (found === undefined) {
      this.#forward(data, question, over, reply);
      return;
    }
    const most = over === 'udp' ? question.size : MAX_TCP_BYTES * 4;
    const rcode = found === 'unknown' ? RCODE.nameError : RCODE.none;
    const addresses = found === 'unknown' || question.type !== TYPE.A ? [] : found.flatMap(octets);
    reply(writeAnswer(data, question, { rcode, addresses, ttlS: TTL_S }, most));
  }

  #forward(data: Buffer, question: DnsQuestion, over: 'udp' | 'tcp', reply: (answer: Buffer) => void): void {
    const failed = (): void =>
      reply(
        writeAnswer(data, question, { rcode: RCODE.serverFailure, addresses: [], ttlS: 0 }, question.size),
      );
    if (this.#forwarded >= MAX_FORWARDED) return failed();
    this.#forwarded += 1;
    const ask = over === 'udp' ? askByUdp : askByTcp;
    askInTurn(this.#options.resolvers(), (resolver) => ask(resolver, data))
      .then(reply, failed)
      .finally(() => {
        this.#forwarded -= 1;
      });
  }

  #serve(socket: Socket): void {
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on('error', () => {});
    onFrames(socket, (data) => {
      this.#answer(data, 'tcp', (answer) => {
        if (socket.writable) socket.write(framed(answer));
      });
    });
  }
}

function octets(address: string): readonly (readonly [number, number, number, number])[] {
  const value = parseAddress(address);
  if (value === undefined) return [];
  const at = (shift: number): number => Math.floor(value / 2 ** shift) % 256;
  return [[at(24), at(16), at(8), at(0)]];
}

async function askInTurn(
  resolvers: readonly string[],
  ask: (resolver: string) => Promise<Buffer>,
): Promise<Buffer> {
  for (const resolver of resolvers) {
    const answer = await ask(resolver).catch(() => undefined);
    if (answer !== undefined) return answer;
  }
  throw new Error('no resolver answered');
}

function askByUdp(resolver: string, data: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(resolver.includes(':') ? 'udp6' : 'udp4');
    const timer = setTimeout(() => settle(reject, new Error('no answer')), FORWARD_MS);
    const settle = <T>(how: (value: T) => void, value: T): void => {
      clearTimeout(timer);
      socket.removeAllListeners().on('error', () => {});
      socket.close();
      how(value);
    };
    socket.once('error', (error) => settle(reject, error));
    // A port of its own for every question, and the answer from there alone.
    socket.connect(PORT, resolver, () => socket.send(data));
    socket.on('message', (answer) => {
      if (answer.length >= 2 && answer.readUInt16BE(0) === data.readUInt16BE(0)) settle(resolve, answer);
    });
  });
}

function askByTcp(resolver: string, data: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: PORT, host: resolver });
    socket.setTimeout(FORWARD_MS, () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
    socket.once('connect', () => socket.write(framed(data)));
    onFrames(socket, (answer) => {
      resolve(answer);
      socket.end();
    });
  });
}

function framed(data: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length, 0);
  return Buffer.concat([length, data]);
}

function onFrames(socket: Socket, take: (data: Buffer) => void): void {
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
