import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { parseAddress } from '../../core/model/ipv4.ts';
import { type DnsAnswer, type DnsQuestion, RCODE, readQuestion, TYPE, writeAnswer } from './dns-message.ts';
import { inUse } from './device.ts';
import { forwarded, framed, onFrames } from './name-forwarding.ts';
import { type Found, type Names, TTL_S } from './names.ts';
import { Shares } from './shares.ts';

const PORT = 53;
/** Questions that wait for the machine's resolvers, and connections: of all containers together, and of one. */
const FORWARDED = { all: 512, each: 64 };
const CONNECTIONS = { all: 256, each: 32 };
const IDLE_MS = 10_000;
const MAX_TCP_BYTES = 65_535;
/** Answers that a container does not read. */
const MAX_UNREAD_BYTES = 256 * 1_024;

export interface NameServerOptions {
  readonly names: () => Names;
  /** Of the machine, in the order in which they are asked. */
  readonly resolvers: () => readonly string[];
  /** Whether the address is one of this node's containers: nobody else is answered. */
  readonly serves: (address: string) => boolean;
}

interface Asker {
  readonly address: string;
  readonly over: 'udp' | 'tcp';
  readonly reply: (answer: Buffer) => void;
}

/** Answers names of the tenant's network itself, and passes every other question on to the resolvers of the machine. */
export class NameServer {
  readonly #options: NameServerOptions;
  readonly #forwards = new Shares(FORWARDED);
  readonly #connections = new Shares(CONNECTIONS);
  #udp: UdpSocket | undefined;
  #tcp: Server | undefined;

  constructor(options: NameServerOptions) {
    this.#options = options;
  }

  async listen(address: string, port = PORT): Promise<void> {
    const udp = createSocket('udp4');
    udp.on('message', (data, from) => {
      if (!this.#options.serves(from.address)) return;
      const reply = (answer: Buffer): void => udp.send(answer, from.port, from.address, () => {});
      this.#answer(data, { address: from.address, over: 'udp', reply });
    });
    const tcp = createServer((socket) => this.#serve(socket));
    [this.#udp, this.#tcp] = [udp, tcp];
    try {
      await bound(udp, () => udp.bind(port, address));
      await bound(tcp, () => tcp.listen(port, address));
    } catch (error) {
      // Tried again with both: half a name server would be in its own way.
      this.close();
      throw inUse(error)
        ? new Error(
            `port ${port} of ${address} is taken by a program that answers on all addresses (ss -lunp 'sport = :${port}' names it); have it listen on addresses of its own only, e.g. bind-dynamic of dnsmasq`,
            { cause: error },
          )
        : error;
    }
  }

  close(): void {
    this.#udp?.close();
    this.#tcp?.close();
    this.#udp = undefined;
    this.#tcp = undefined;
  }

  #answer(data: Buffer, asker: Asker): void {
    const question = readQuestion(data);
    if (question === undefined) return;
    const found = this.#options.names().find(question.name);
    if (found === undefined) return this.#forward(data, question, asker);
    const most = asker.over === 'udp' ? question.size : MAX_TCP_BYTES;
    asker.reply(writeAnswer(data, question, answerTo(question, found), most));
  }

  #forward(data: Buffer, question: DnsQuestion, { address, over, reply }: Asker): void {
    const failed = (): void =>
      reply(writeAnswer(data, question, { rcode: RCODE.serverFailure, ttlS: 0 }, question.size));
    const leave = this.#forwards.enter(address);
    if (leave === undefined) return failed();
    // Closed by now: nobody hears it.
    const answered = (answer: Buffer): void => {
      if (this.#udp !== undefined) reply(answer);
    };
    forwarded(data, over, this.#options.resolvers()).then(answered, failed).finally(leave);
  }

  #serve(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const leave = this.#options.serves(address) ? this.#connections.enter(address) : undefined;
    socket.on('error', () => {});
    if (leave === undefined) {
      socket.destroy();
      return;
    }
    socket.once('close', leave);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    const reply = (answer: Buffer): void => {
      if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
      else if (socket.writable) socket.write(framed(answer));
    };
    onFrames(socket, (data) => this.#answer(data, { address, over: 'tcp', reply }));
  }
}

async function bound(socket: UdpSocket | Server, bind: () => void): Promise<void> {
  const listening = once(socket, 'listening');
  bind();
  await listening;
  socket.on('error', () => {});
}

/** Other types than we have are there and empty: an asker of IPv6 takes IPv4 then. */
function answerTo({ type }: DnsQuestion, found: Exclude<Found, undefined>): DnsAnswer {
  if (found === 'unknown') return { rcode: RCODE.nameError, ttlS: TTL_S };
  const addresses = type === TYPE.A ? found.addresses.flatMap(octets) : [];
  const places =
    type === TYPE.SRV
      ? found.places.flatMap(({ address, ...place }) =>
          octets(address).map((one) => ({ ...place, address: one })),
        )
      : [];
  return { rcode: RCODE.none, addresses, places, ttlS: TTL_S };
}

function octets(address: string): readonly (readonly [number, number, number, number])[] {
  const value = parseAddress(address);
  if (value === undefined) return [];
  const at = (shift: number): number => Math.floor(value / 2 ** shift) % 256;
  return [[at(24), at(16), at(8), at(0)]];
}
