import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What becomes of a call that changes something. */
export type CallFate = 'pass' | 'before' | 'after';

export interface EngineProxyOptions {
  readonly socketPath: string;
  /** Asked before each call that changes something; `call` is its method and route, without ids. */
  readonly fateOf: (call: string) => CallFate;
  /** Before: nothing of the call reached the engine. After: the engine has done it, and its answer goes nowhere. */
  readonly onCrash: () => void;
}

export interface EngineProxy extends AsyncDisposable {
  readonly socketPath: string;
}

/** Undefined: it only reads. */
function changeOf({ method = '', url = '' }: IncomingMessage): string | undefined {
  if (method !== 'POST' && method !== 'DELETE') return undefined;
  const [route = ''] = url.replace(/^\/v[\d.]+/, '').split('?', 1);
  return `${method} ${route.replace(/\/[0-9a-f]{64}(?=\/|$)/, '/{id}')}`;
}

/**
 * Stands between an agent and its engine, and says at each call that changes something whether the caller is to die just before or
 * just after it. Connections that change their protocol do not pass.
 */
export async function startEngineProxy(options: EngineProxyOptions): Promise<EngineProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-proxy-'));
  const socketPath = join(folder, 'p.sock');

  function serve(asked: IncomingMessage, answer: ServerResponse): void {
    const change = changeOf(asked);
    const fate = change === undefined ? 'pass' : options.fateOf(change);
    if (fate === 'before') {
      // The connection ends with the caller.
      options.onCrash();
      return;
    }
    const { method, url, headers } = asked;
    const call = request({ socketPath: options.socketPath, method, path: url, headers }, (done) => {
      if (fate === 'after') {
        done.resume();
        done.once('close', options.onCrash);
        return;
      }
      answer.writeHead(done.statusCode ?? 502, done.headers);
      // A stream of events may say nothing for long.
      answer.flushHeaders();
      done.pipe(answer);
      done.once('error', () => answer.destroy());
    });
    call.once('error', () => answer.destroy());
    if (fate === 'pass') answer.once('close', () => call.destroy());
    asked.pipe(call);
  }

  const server = createServer(serve);
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    socketPath,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
