import { messageOf } from '../../core/model/values.ts';
import { bytesOf } from '../bytes.ts';
import type { KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { dialer, WrongCertificateError } from './dial.ts';
import { fields, nonEmpty } from '../engine/fields.ts';
import { type Identity, publicKeyText } from './identity.ts';
import type { Pins } from './pins.ts';
import type { NodeFacts } from './node-facts.ts';
import { retryAfterMs } from './retry-after.ts';

const { request } = process.getBuiltinModule('node:http');

const REQUEST_DEADLINE_MS = 30_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const TRIES = 5;
const BETWEEN_TRIES_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export interface Enrolment {
  /** Tried one after the other. */
  readonly servers: readonly [string, ...(readonly string[])];
  readonly pins: Pins;
  readonly joinToken: string;
  readonly nodeName: string;
  readonly key: KeyObject;
  readonly facts: NodeFacts;
}

export type Enrolled =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly problem: string };

interface Answer {
  readonly status: number;
  readonly retryMs: number | undefined;
  readonly body: unknown;
}

/** Registers the node. Ends with an identity or with a reason, after a bounded number of tries: it never hangs. */
export async function enrol(enrolment: Enrolment): Promise<Enrolled> {
  let problem = '';
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    let waitMs = BETWEEN_TRIES_MS;
    const server = enrolment.servers[(attempt - 1) % enrolment.servers.length] ?? enrolment.servers[0];
    try {
      const answer = await register(enrolment, server);
      if (answer.status === 201 || answer.status === 200) return accepted(enrolment, server, answer);
      problem = refusal(answer);
      if (answer.status !== 429 && answer.status !== 503) break;
      waitMs = Math.min(LONGEST_WAIT_MS, answer.retryMs ?? BETWEEN_TRIES_MS);
    } catch (error) {
      problem = `cannot reach ${server}: ${messageOf(error)}`;
      if (error instanceof WrongCertificateError) break;
    }
    if (attempt < TRIES) await pause(waitMs);
  }
  return { ok: false, problem };
}

function accepted(enrolment: Enrolment, server: string, answer: Answer): Enrolled {
  const nodeToken = nonEmpty(fields(answer.body)['nodeToken']);
  if (nodeToken === undefined)
    return { ok: false, problem: 'the control plane answered without a node token' };
  const { nodeName, pins } = enrolment;
  const { caDigest } = pins;
  const pin = caDigest === undefined ? {} : { caDigest };
  const others = enrolment.servers.filter((one) => one !== server);
  const more = others.length === 0 ? {} : { moreServers: others };
  return { ok: true, identity: { server, nodeName, nodeToken, ...pin, ...more } };
}

/** The six fields of the rejection record, for a person at a terminal. */
function refusal({ status, body }: Answer): string {
  const record = fields(body);
  const field = (key: string): string => nonEmpty(record[key]) ?? '';
  if (field('code') === '') return `the control plane refused the registration with status ${status}`;
  return [
    `registration refused: ${field('code')}`,
    `  why       ${field('why')}`,
    `  field     ${field('field')}: ${field('received')}`,
    `  expected  ${field('expected')}`,
    `  see       ${field('doc')}`,
  ].join('\n');
}

async function register(
  { pins, joinToken, nodeName, key, facts }: Enrolment,
  server: string,
): Promise<Answer> {
  const url = new URL(`${server}/api/v1/nodes`);
  const body = JSON.stringify({ nodeName, ...facts, publicKey: publicKeyText(key) });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({
      method: 'POST',
      host: url.hostname,
      path: url.pathname,
      headers: {
        Host: url.host,
        Authorization: `Bearer ${joinToken}`,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        Connection: 'close',
      },
      createConnection: dialer(url, pins),
      signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
    });
    outgoing.once('response', resolve);
    outgoing.on('error', reject);
    outgoing.end(body);
  });
  return {
    status: response.statusCode ?? 0,
    retryMs: retryAfterMs(response.headers['retry-after']),
    body: await readJson(response),
  };
}

export async function readJson(response: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of bytesOf(response)) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer is too long');
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}
