import { hash, randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';

const ASK = Buffer.from('BM1?');
const ANSWER = Buffer.from('BM1!');
const NONCE_BYTES = 8;
const NAME_BYTES = 8;
const LENGTH = ASK.length + NONCE_BYTES + NAME_BYTES;
/** Questions without an answer that are remembered. */
const MAX_OPEN = 4_096;

interface Question {
  readonly target: string;
  readonly sentMs: number;
}

/**
 * Asks addresses whether a node is there, outside of tunnels and through them, and answers those who ask for this one: an address that is
 * wrong, or another machine's by now, may well be that of a node too. An answer is as long as its question, so nobody can use it to
 * send more than they sent; it names the question's random number, so nobody else can give it.
 */
export class Pings {
  readonly #onAnswer: (target: string, roundTripMs: number) => void;
  readonly #onAsked: (from: string) => void;
  readonly #open = new Map<string, Question>();
  #socket: Socket | undefined;
  /** Public keys of this node. */
  #own: readonly Buffer[] = [];

  /** `onAsked`: somebody at this address asked for this node. */
  constructor(onAnswer: (target: string, roundTripMs: number) => void, onAsked: (from: string) => void) {
    this.#onAnswer = onAnswer;
    this.#onAsked = onAsked;
  }

  async listen(port: number): Promise<void> {
    const socket = createSocket('udp4');
    socket.on('message', (data, { address, port: from }) => this.#take(data, address, from));
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(port, () => {
        socket.off('error', reject);
        // What cannot be reached is silent, and that is all there is to know.
        socket.on('error', () => {});
        resolve();
      });
    });
    this.#socket = socket;
  }

  /** Whom to answer for. */
  answerFor(publicKeys: readonly string[]): void {
    this.#own = publicKeys.map(nameOf);
  }

  /** `target` is what `onAnswer` is told. */
  ask(target: string, publicKey: string, host: string, port: number): void {
    const nonce = randomBytes(NONCE_BYTES);
    const [oldest] = this.#open.keys();
    if (this.#open.size >= MAX_OPEN && oldest !== undefined) this.#open.delete(oldest);
    this.#open.set(nonce.toString('hex'), { target, sentMs: performance.now() });
    this.#send(Buffer.concat([ASK, nonce, nameOf(publicKey)]), host, port);
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
    this.#open.clear();
  }

  #take(data: Buffer, host: string, port: number): void {
    if (data.length !== LENGTH) return;
    const kind = data.subarray(0, ASK.length);
    const nonce = data.subarray(ASK.length, ASK.length + NONCE_BYTES);
    const name = data.subarray(ASK.length + NONCE_BYTES);
    if (kind.equals(ASK)) {
      if (!this.#own.some((one) => one.equals(name))) return;
      this.#send(Buffer.concat([ANSWER, nonce, name]), host, port);
      this.#onAsked(host);
      return;
    }
    const key = nonce.toString('hex');
    const question = kind.equals(ANSWER) ? this.#open.get(key) : undefined;
    if (question === undefined) return;
    this.#open.delete(key);
    this.#onAnswer(question.target, performance.now() - question.sentMs);
  }

  #send(data: Buffer, host: string, port: number): void {
    this.#socket?.send(data, port, host, () => {});
  }
}

function nameOf(publicKey: string): Buffer {
  return hash('sha256', publicKey, 'buffer').subarray(0, NAME_BYTES);
}
