import type { OutgoingHttpHeaders } from 'node:http';
import type { SecretValue } from '../../../core/model/secret-value.ts';

/** Larger than any document the rules admit; an answer beyond it is cut off. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_SOCKETS = 32;

export interface VaultHttpOptions {
  /** Origin of the server, `https://vault.internal:8200`. */
  readonly address: string;
  /** Time for one call from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  /** PEM of the authority that signed the server's certificate; absent = those of the system. */
  readonly ca?: string;
  /** Enterprise or OpenBao namespace. */
  readonly namespace?: string;
}

export interface VaultCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/v1/`, with encoded segments. */
  readonly path: string;
  readonly token?: SecretValue;
  readonly body?: unknown;
  /** Of the server, not of the namespace: asked inside one, such a path is not there. */
  readonly serverWide?: boolean;
}

/** An answer of the server whatever its status, or why there is none. `retriable`: worth a second try if the call is safe to repeat. */
export type VaultAnswer =
  | {
      readonly reached: true;
      readonly status: number;
      readonly json: unknown;
      /** The server's own clock, in milliseconds: times in its answers are compared with no other. */
      readonly at?: number;
    }
  | { readonly reached: false; readonly retriable: boolean; readonly problem: string };

export interface VaultHttp {
  send(call: VaultCall): Promise<VaultAnswer>;
  close(): void;
}

/** Requests over a pool of its own. Redirects are not followed: the token would go to a host that is not configured. */
export function createVaultHttp(options: VaultHttpOptions): VaultHttp {
  const origin = new URL(options.address);
  const secure = origin.protocol === 'https:';
  if (!secure && origin.protocol !== 'http:')
    throw new TypeError('the address of the secrets store is no http(s) URL');
  const { Agent, request } = process.getBuiltinModule(secure ? 'node:https' : 'node:http');
  const reads = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  // A pooled connection may have been closed by the server a moment ago; a write must not depend on it, since it is not repeated.
  const writes = new Agent({ keepAlive: false, maxSockets: MAX_SOCKETS });

  function headersOf(call: VaultCall, body: string | undefined): OutgoingHttpHeaders {
    return {
      accept: 'application/json',
      'x-vault-request': 'true',
      ...(options.namespace === undefined || call.serverWide === true
        ? {}
        : { 'x-vault-namespace': options.namespace }),
      ...(call.token === undefined ? {} : { 'x-vault-token': call.token.reveal() }),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
  }

  function send(call: VaultCall): Promise<VaultAnswer> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    return new Promise((resolve) => {
      const outgoing = request(
        new URL(`/v1/${call.path}`, origin),
        {
          method: call.method,
          agent: call.method === 'GET' ? reads : writes,
          headers: headersOf(call, body),
          ...(secure && options.ca !== undefined ? { ca: options.ca } : {}),
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          let size = 0;
          incoming.on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size > MAX_ANSWER_BYTES) outgoing.destroy(new Error('the answer is too large'));
            else chunks.push(chunk);
          });
          incoming.on('error', (error) => finish(unreached(error)));
          incoming.on('end', () => {
            const json = parsed(Buffer.concat(chunks).toString('utf8'));
            const at = Date.parse(incoming.headers.date ?? '');
            finish({
              reached: true,
              status: incoming.statusCode ?? 0,
              json,
              ...(Number.isNaN(at) ? {} : { at }),
            });
          });
        },
      );
      // One timer for the whole call: socket timeouts restart with every byte, and a slow drip would never end.
      const deadline = setTimeout(() => {
        finish({
          reached: false,
          retriable: false,
          problem: `gave no answer within ${options.timeoutMs} ms`,
        });
        outgoing.destroy();
      }, options.timeoutMs);
      const finish = (answer: VaultAnswer): void => {
        clearTimeout(deadline);
        resolve(answer);
      };
      outgoing.on('error', (error) => finish(unreached(error)));
      outgoing.end(body);
    });
  }

  return {
    send,
    close: () => {
      reads.destroy();
      writes.destroy();
    },
  };
}

/** Errors that may be over a moment later: a server that restarts, or a pooled connection it had just closed. */
const PASSING: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN']);

/** The code only: messages of network errors may carry what the peer sent. */
function unreached(error: Error): VaultAnswer {
  const code = 'code' in error ? String(error.code) : error.name;
  return { reached: false, retriable: PASSING.has(code), problem: `cannot be reached (${code})` };
}

function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
