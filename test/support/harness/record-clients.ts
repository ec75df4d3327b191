/**
 * Clients that create, read, change and delete a few deployments at random, and write down what they asked and were told, for the
 * checker in `linearizability.ts`.
 */
import type { Answer, ApiClient, CallOptions, Json } from './api-client.ts';
import type { RecordAnswer, RecordCall, RecordedCall } from '../linearizability.ts';
import { Dice } from '../openapi-fuzz.ts';

export interface RecordClientOptions {
  readonly name: string;
  readonly seed: number;
  /** Of the deployments that all clients share. */
  readonly keys: readonly string[];
  /** That the control plane finds at once: a registry that is away costs half a second. */
  readonly image: string;
}

export class RecordClient {
  readonly dice: Dice;
  readonly #options: RecordClientOptions;
  readonly #tags = new Map<string, string>();
  #sent = 0;

  constructor(options: RecordClientOptions) {
    this.#options = options;
    this.dice = new Dice(options.seed);
  }

  /** One call, chosen at random, and added to the history unless it certainly did nothing. Throws what the connection threw. */
  async call(api: ApiClient, history: RecordedCall[]): Promise<void> {
    const key = this.dice.pick(this.#options.keys);
    const call = this.#choose(key);
    const startMs = performance.now();
    let received: Answer;
    try {
      received = await this.#send(api, key, call);
    } catch (error) {
      const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
      if (!refused && call.kind !== 'read') history.push({ key, call, startMs });
      throw error;
    }
    const outcome = answerOf(call, received);
    if (outcome === 'nothing done') return;
    if (outcome === 'not known') {
      history.push({ key, call, startMs });
      return;
    }
    history.push({ key, call, startMs, endMs: performance.now(), answer: outcome });
    if ('tag' in outcome) this.#tags.set(key, outcome.tag);
  }

  /** What is there at the end, as every control plane tells it. */
  async readAll(api: ApiClient, history: RecordedCall[]): Promise<void> {
    for (const key of this.#options.keys) {
      const startMs = performance.now();
      const answer = answerOf({ kind: 'read' }, await this.#send(api, key, { kind: 'read' }));
      if (typeof answer === 'string') throw new Error(`${key} could not be read at the end`);
      history.push({ key, call: { kind: 'read' }, startMs, endMs: performance.now(), answer });
    }
  }

  #choose(key: string): RecordCall {
    const tag = this.#tags.get(key);
    const condition = tag !== undefined && this.dice.chance(0.6) ? { ifMatch: tag } : {};
    const drawn = this.dice.next();
    if (drawn < 0.4) return { kind: 'read' };
    if (drawn < 0.5) return { kind: 'delete', ...condition };
    this.#sent += 1;
    const value = `${this.#options.name}-${this.#sent}`;
    return drawn < 0.65 ? { kind: 'create', value } : { kind: 'update', value, ...condition };
  }

  #send(api: ApiClient, key: string, call: RecordCall): Promise<Answer> {
    const path = `/api/v1/deployments/${key}`;
    const headers: CallOptions =
      'ifMatch' in call && call.ifMatch !== undefined ? { headers: { 'if-match': call.ifMatch } } : {};
    const { image } = this.#options;
    const body = (value: string): Json => ({ image, replicas: 0, environment: { VALUE: value } });
    switch (call.kind) {
      case 'read':
        return api.send('GET', path);
      case 'create':
        return api.send('POST', '/api/v1/deployments', { body: { name: key, ...body(call.value) } });
      case 'update':
        return api.send('PUT', path, { body: body(call.value), ...headers });
      case 'delete':
        return api.send('DELETE', path, headers);
    }
  }
}

/** A read that says it may be old is none; a refusal because the store is away says whether the write may have been stored. */
function answerOf(call: RecordCall, answer: Answer): RecordAnswer | 'nothing done' | 'not known' {
  const { status, headers, body, text } = answer;
  if (headers['berth-stale'] === 'true') return 'nothing done';
  if (status === 503 && body['code'] === 'store_unavailable')
    return String(body['why']).includes('not known whether the write was stored')
      ? 'not known'
      : 'nothing done';
  const tag = String(headers['etag']);
  if (status === 404) return { kind: 'absent' };
  if (status === 412) return { kind: 'mismatch' };
  if (status === 409 && call.kind === 'create') return { kind: 'exists' };
  if (status < 300 && call.kind === 'delete') return { kind: 'deleted' };
  if (status >= 300 || headers['etag'] === undefined) throw new Error(`${call.kind}: ${status} ${text}`);
  if (call.kind !== 'read') return { kind: 'written', tag };
  return { kind: 'found', tag, value: String((body['environment'] as Json)['VALUE']) };
}

/** `found 512, written 320, …` */
export function countsOf(history: readonly RecordedCall[]): string {
  const kinds = Map.groupBy(history, ({ answer }) => answer?.kind ?? 'unanswered');
  return [...kinds]
    .map(([kind, calls]) => `${kind} ${calls.length}`)
    .sort()
    .join(', ');
}
