import { createPrivateKey } from 'node:crypto';
import type { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { ScriptedAgent } from './scripted-agent.ts';

export interface Flood {
  readonly url: string;
  readonly node: string;
  readonly token: string;
  /** PEM of the node's key. */
  readonly key: string;
  readonly forMs: number;
  /** What is sent again and again; `{stream}` is a stream that a reader opened, `{epoch}` the session's. */
  readonly frames: readonly FloodFrame[];
}

export interface FloodFrame {
  readonly kind: 'text' | 'begin' | 'more' | 'ping';
  readonly payload: string;
}

export interface Flooded {
  /** Frames that left for the network. */
  readonly sent: number;
  readonly seconds: number;
  /** Of the farewell; undefined: the session was not ended. */
  readonly farewell: string | undefined;
  readonly closed: boolean;
}

/** An agent in a thread of its own that keeps to nothing: frames are made by hand and sent as fast as the network takes them. */
const OPCODES = { text: 0x81, begin: 0x01, more: 0x00, ping: 0x89 } as const;
const BLOCK_BYTES = 256 * 1024;

/** Masked by zeros, as a client has to mask. */
function frame(kind: FloodFrame['kind'], payload: Buffer): Buffer {
  const head =
    payload.length < 126
      ? Buffer.from([OPCODES[kind], 0x80 | payload.length])
      : Buffer.from([OPCODES[kind], 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (payload.length >= 126) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

async function flood({ url, node, token, key, forMs, frames }: Flood): Promise<Flooded> {
  const agent = new ScriptedAgent({
    url,
    node,
    token,
    key: { privateKey: createPrivateKey(key), publicKey: '' },
  });
  await agent.welcome();
  parentPort?.postMessage('connected', []);
  const needsStream = frames.some(({ payload }) => payload.includes('{stream}'));
  const streamId = needsStream ? (await agent.next('request')).streamId : '';
  const round = frames.map(({ kind, payload }) =>
    frame(
      kind,
      Buffer.from(payload.replaceAll('{stream}', streamId).replaceAll('{epoch}', String(agent.epoch))),
    ),
  );
  const [first, ...rest] = round[0] === undefined ? [] : round;
  const opening = frames[0]?.kind === 'begin';
  const again = Buffer.concat(opening ? rest : round);
  const times = Math.max(1, Math.floor(BLOCK_BYTES / again.length));
  const block = Buffer.concat(Array.from({ length: times }, () => again));
  const raw = (agent.socket as unknown as { readonly _socket: Socket })._socket;
  const begun = performance.now();
  const until = begun + forMs;
  let sent = 0;
  let closed = false;
  void agent.closed.then(() => {
    closed = true;
  });
  raw.on('error', () => undefined);
  if (opening && first !== undefined) raw.write(first);
  while (!closed && performance.now() < until) {
    const taken = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(1, until - performance.now()));
      const done = (ok: boolean) => {
        clearTimeout(timer);
        resolve(ok);
      };
      raw.once('close', () => done(false));
      raw.write(block, (error) => done(error == null));
    });
    raw.removeAllListeners('close');
    if (taken) sent += times * (opening ? rest.length : round.length);
    else if (raw.destroyed) break;
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  const farewell = agent.received.find((message) => message.type === 'farewell');
  const seconds = (performance.now() - begun) / 1000;
  const ended = closed || raw.destroyed;
  agent.socket.terminate();
  return { sent, seconds, farewell: farewell?.code, closed: ended };
}

if (parentPort !== null) parentPort.postMessage(await flood(workerData as Flood), []);
