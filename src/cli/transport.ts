import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { messageOf } from '../core/model/values.ts';
import { codeOf, type Fetch, type FetchAnswer } from '../sdk/index.ts';
import type { Target } from './context.ts';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';

const CONNECT_MS = 10_000;
/** Then a person is told what is waited for. */
const SILENCE_MS = 5_000;

/** A stream says that it is there every 15 s. */
const STREAM_QUIET_MS = 20_000;

/** Of a stream that is open: a person is told when nothing at all comes any more. Bytes are counted, so that reading is not touched. */
export function watchStream(answer: IncomingMessage, quietMs: number, onQuiet: () => void): void {
  let [bytes, quiet] = [0, 0];
  const stepMs = quietMs / 4;
  const timer = setInterval(() => {
    const { bytesRead } = answer.socket;
    quiet = bytesRead === bytes ? quiet + stepMs : 0;
    bytes = bytesRead;
    if (quiet === quietMs) onQuiet();
  }, stepMs);
  timer.unref();
  answer.once('close', () => clearInterval(timer));
}

/** Over `node:http`: the platform's `fetch` knows no authority of its own, and takes longer to load than most commands take to run. */
export function fetchOf(target: Target, onSilence?: (message: string) => void): Fetch {
  return async (address, { method, headers, body, signal }) => {
    const url = new URL(address);
    // Loaded when needed, for the same reason.
    const { request: open } = process.getBuiltinModule(
      url.protocol === 'https:' ? 'node:https' : 'node:http',
    );
    return new Promise((resolve, reject) => {
      const sent: ClientRequest = open(
        url,
        {
          method,
          headers: {
            ...headers,
            ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
          },
          signal,
          ...(target.caFile === undefined ? {} : { ca: readFileSync(target.caFile) }),
        },
        (answer) => {
          clearTimeout(connecting);
          clearTimeout(silence);
          if (onSilence && answer.headers['content-type']?.startsWith('text/event-stream'))
            watchStream(answer, STREAM_QUIET_MS, () => {
              onSilence(`${url.host} has sent nothing for ${STREAM_QUIET_MS / 1000} s; still waiting`);
            });
          resolve(answerOf(answer));
        },
      );
      const silence = setTimeout(() => {
        onSilence?.(`${url.host} has not answered for ${SILENCE_MS / 1000} s; still waiting`);
      }, SILENCE_MS);
      const connecting = setTimeout(() => {
        if (sent.socket?.connecting !== false)
          sent.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`));
      }, CONNECT_MS);
      sent.once('error', (error) => {
        clearTimeout(connecting);
        clearTimeout(silence);
        reject(error);
      });
      sent.end(body);
    });
  };
}

function answerOf(answer: IncomingMessage): FetchAnswer {
  const get = (name: string): string | null => {
    const value = answer.headers[name];
    return typeof value === 'string' ? value : (value?.join(', ') ?? null);
  };
  return { status: answer.statusCode ?? 0, headers: { get }, body: answer };
}

interface Explanation {
  readonly what: string;
  readonly check: readonly string[];
}

function explanationOf(code: string, host: string, server: string): Explanation | undefined {
  switch (code) {
    case 'ECONNREFUSED':
      return {
        what: `nothing listens at ${host}`,
        check: [
          'Is the control plane running there? berth up starts one on this machine.',
          'Is the port right? berth context list shows what is remembered.',
        ],
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        what: `the name in ${server} is not known`,
        check: [
          'Is it spelt right? berth context list shows what is remembered.',
          'Does this machine have DNS and a network?',
        ],
      };
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return {
        what: `${host} cannot be reached from here`,
        check: ['Is there a route, and does a firewall let it pass?'],
      };
    case 'ECONNRESET':
    case 'EPIPE':
      return {
        what: 'the connection was cut',
        check: [
          'If the control plane was restarted just now, try again.',
          `If ${server} speaks TLS, its address starts with https://`,
        ],
      };
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return { what: `${host} does not speak TLS`, check: ['Is its address http:// rather than https://?'] };
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return {
        what: `nobody this machine trusts signed the certificate of ${host}`,
        check: [
          'berth login --server URL --ca-file FILE trusts the authority in FILE for this control plane.',
        ],
      };
    case 'CERT_HAS_EXPIRED':
      return {
        what: `the certificate of ${host} has expired`,
        check: ['Renew it on the control plane; is the clock of this machine right?'],
      };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        what: `the certificate is for another name than ${host}`,
        check: ['Use the name that the certificate was made for.'],
      };
    case 'HPE_INVALID_CONSTANT':
    case 'HPE_INVALID_HEADER_TOKEN':
      return {
        what: `what listens at ${host} does not speak HTTP`,
        check: [`If it speaks TLS, its address starts with https://`],
      };
    default:
      return undefined;
  }
}

export function unreachable(target: Target, error: unknown): Failure {
  const { host } = new URL(target.server);
  const known = explanationOf(codeOf(error), host, target.server);
  return new Failure(
    `cannot reach the control plane at ${target.server} (${target.source}): ${known?.what ?? messageOf(error)}`,
    {
      exitCode: EXIT.unreachable,
      advice: known?.check ?? [
        'Is the control plane running and reachable? berth doctor checks what usually goes wrong.',
      ],
      cause: error,
    },
  );
}
