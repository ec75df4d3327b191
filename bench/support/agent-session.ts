import { sign } from 'node:crypto';
import { WebSocket } from 'ws';
import {
  type Challenge,
  PONGS_FEATURE,
  PROTOCOL_VERSION,
  PULSES_FEATURE,
  signedText,
} from '../../src/core/protocol/agent-protocol.ts';
import { AGENT_FACTS, type Enrolled } from './enrol.ts';

interface Welcome {
  readonly type: 'welcome';
  readonly epoch: number;
  readonly heartbeatMs: number;
  readonly hearsPulses?: boolean;
}

/** As agents do: everything is said this often, whatever is new. */
const FULL_EVERY_MS = 60_000;

/** An agent of nothing but its session: it says who it is, and reports that nothing runs. */
export async function openSession(
  url: string,
  { name, token, key }: Enrolled,
): Promise<{ readonly socket: WebSocket; readonly welcome: Welcome }> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/agent/v1/session`, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  const welcome = await new Promise<Welcome>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', (code) => reject(new Error(`the session of ${name} was closed with ${code}`)));
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Challenge | Welcome;
      if (message.type === 'challenge') {
        const { nonce, epoch } = message;
        const signature = sign(null, Buffer.from(signedText(nonce, epoch, name)), key).toString('base64');
        const hello = { type: 'hello', protocol: PROTOCOL_VERSION, node: name, epoch, signature };
        socket.send(JSON.stringify({ ...hello, ...AGENT_FACTS, features: [PONGS_FEATURE, PULSES_FEATURE] }));
      } else if (message.type === 'welcome') resolve(message);
    });
  });
  return { socket, welcome };
}

export function reportOf(epoch: number): string {
  return JSON.stringify({
    type: 'report',
    epoch,
    generation: 1,
    full: true,
    observations: [],
    beat: 1,
    volumes: [],
  });
}

/** A report once a minute and a pulse every heartbeat, as of an agent with nothing to say; not all agents at once. */
export function beatFor(socket: WebSocket, report: string, everyMs: () => number, pulses = true): void {
  let fullMs = -Infinity;
  const beat = (): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const now = performance.now();
    if (pulses && now - fullMs < FULL_EVERY_MS) socket.pong();
    else {
      socket.send(report);
      // The first ones were said at any time of the last minute.
      fullMs = fullMs === -Infinity ? now - Math.random() * FULL_EVERY_MS : now;
    }
    setTimeout(beat, everyMs() * (0.9 + Math.random() * 0.2)).unref();
  };
  setTimeout(beat, Math.random() * everyMs()).unref();
}
