import { get, type IncomingMessage } from 'node:http';
import { BENCH_TOKEN, type ServerProcess } from './server-process.ts';

export interface RunningEvents {
  /** Resolves with the event that says that all instances of the deployment run. */
  of(deployment: string): Promise<void>;
  close(): void;
}

/**
 * Follows the events of the control plane. A client that asks again and again takes part of the cores that the engine needs:
 * every 5 ms, about a tenth of the time that one container takes to start on two cores.
 */
export async function followRunning(server: ServerProcess): Promise<RunningEvents> {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  const one = (name: string): PromiseWithResolvers<void> => {
    const known = waiting.get(name) ?? Promise.withResolvers<void>();
    waiting.set(name, known);
    return known;
  };
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${BENCH_TOKEN}`, accept: 'text/event-stream' };
    get(`${server.url}/api/v1/events?kind=deployment.running`, { agent: false, headers }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`events were answered with ${response.statusCode}`));
    }).on('error', reject);
  });
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('error', () => undefined);
  stream.on('data', (text: string) => {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const name = /^event: deployment\.running$[^]*"name":"([^"]+)"/m.exec(frame)?.[1];
      if (name !== undefined) one(name).resolve();
    }
  });
  return { of: (deployment) => one(deployment).promise, close: () => void stream.destroy() };
}
