import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Target } from './context.ts';
import { EXIT } from './exit-code.ts';
import { Failure, messageOf } from './failure.ts';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Silence after which the call is given up; for a stream, silence between two pieces. */
  readonly idleMs: number;
  readonly signal?: AbortSignal | undefined;
}

const CONNECT_MS = 10_000;

/** Answers of a control plane are bounded by its pages; more than this is something else that answers. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

/** Resolves with the head of the answer; its body is still to be read. */
export async function send(target: Target, request: WireRequest): Promise<IncomingMessage> {
  const url = new URL(`${target.server}${request.path}`);
  // Loaded when needed: TLS takes longer to load than most commands take to run.
  const { request: open } =
    url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = open(
      url,
      {
        method: request.method,
        headers: {
          ...request.headers,
          ...(request.body === undefined
            ? {}
            : { 'content-length': String(Buffer.byteLength(request.body)) }),
        },
        timeout: request.idleMs,
        ...(request.signal === undefined ? {} : { signal: request.signal }),
        ...(target.caFile === undefined ? {} : { ca: readFileSync(target.caFile) }),
      },
      (answer) => {
        clearTimeout(connecting);
        resolve(answer);
      },
    );
    const connecting = setTimeout(() => {
      if (sent.socket?.connecting !== false)
        sent.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`));
    }, CONNECT_MS);
    sent.once('timeout', () => sent.destroy(new Error(`no answer within ${request.idleMs / 1000} s`)));
    sent.once('error', (error) => {
      clearTimeout(connecting);
      reject(error);
    });
    sent.end(request.body);
  });
}

export async function readBody(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) {
      answer.destroy();
      throw new Error(`the answer is larger than ${MAX_BODY_BYTES / 2 ** 20} MiB`);
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** The request cannot have reached the control plane, so that sending it again does nothing twice. */
export function neverSent(error: unknown): boolean {
  return NEVER_SENT.has(codeOf(error));
}

/** Waiting changes nothing: a certificate, a protocol. */
export function isPermanent(error: unknown): boolean {
  return /^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO|HPE_)/.test(codeOf(error));
}

export function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return (error as NodeJS.ErrnoException | undefined)?.code ?? '';
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
