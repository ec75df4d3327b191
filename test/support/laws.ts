import { isDeepStrictEqual } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { SERVER_OWNED } from '../../src/core/contract/server-owned.ts';
import type { Alteration } from '../../src/core/model/announcement.ts';
import { CATALOGUE, isRejectionCode } from '../../src/core/rejections/catalogue.ts';
import { received } from '../../src/core/rejections/redaction.ts';
import { parseKey } from '../../src/server/store/keys.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { askedChanges, Mirror, type Snapshot } from './store-snapshot.ts';
import type { Answer, ApiClient, CallObserver, CallOptions, Json } from './harness/api-client.ts';

const ANNOUNCED = ['alterations', 'warnings', 'removed', 'plan'];
const RECORD_KEYS = ['code', 'doc', 'expected', 'field', 'received', 'why'];
/** A larger store is not read twice per request: its calls say `laws: false`. */
const MAX_COMPARED = 50_000;
const MAX_SENT = 20_000;

/** Refused by a node that was asked to act: that it was asked is on record, whatever it answered. */
const REFUSED_BY_NODE: ReadonlySet<string> = new Set(['certificate_not_revoked', 'node_key_not_renewed']);

/** A law of quality.md was broken; the message says by which request. */
export class LawBroken extends Error {
  override readonly name = 'LawBroken';
}

/** Law of the record: exactly six strings, a code of the catalogue with its status, a page that is served. */
export function recordProblem(answer: Answer, baseUrl: string): string | undefined {
  const { body, status } = answer;
  if (!isDeepStrictEqual(Object.keys(body).sort(), RECORD_KEYS))
    return `the keys are ${Object.keys(body).join(' ')}: ${answer.text.slice(0, 200)}`;
  if (Object.values(body).some((value) => typeof value !== 'string')) return 'a value is not a string';
  const code = body['code'] as string;
  if (!isRejectionCode(code)) return `${code} is not in the catalogue`;
  const entry = CATALOGUE[code];
  if (status !== entry.status && status !== entry.alsoStatus)
    return `${code} came with ${status} instead of ${entry.status}`;
  if (body['doc'] !== `${baseUrl}/docs/errors/${code}`) return `doc is ${String(body['doc'])}`;
  if ((body['received'] as string).length > 256) return 'received is longer than 256 characters';
  if ([body['field'], body['expected'], body['why']].includes('')) return 'a text is empty';
  return undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Paths at which two values differ, as deep as both have the same shape. */
export function differences(a: unknown, b: unknown, path = ''): string[] {
  if (isObject(a) && isObject(b)) {
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) =>
      differences(
        Object.hasOwn(a, key) ? a[key] : undefined,
        Object.hasOwn(b, key) ? b[key] : undefined,
        path === '' ? key : `${path}.${key}`,
      ),
    );
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length)
    return a.flatMap((item, index) => differences(item, b[index], `${path}[${index}]`));
  return isDeepStrictEqual(a, b) ? [] : [path];
}

function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const step of path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Json)[step];
  }
  return value;
}

function specOf(record: Json): Record<string, unknown> {
  const spec: Record<string, unknown> = { ...record };
  for (const key of [...SERVER_OWNED, ...ANNOUNCED]) delete spec[key];
  return spec;
}

function merged(before: Json | undefined, sent: Json): Record<string, unknown> {
  const spec = before === undefined ? {} : specOf(before);
  for (const [key, value] of Object.entries(specOf(sent))) {
    if (value === null) {
      if (key !== 'name') delete spec[key];
    } else spec[key] = value;
  }
  return spec;
}

/** Law of alterations: what is stored is what was sent plus what was announced, and nothing is announced falsely. */
export function alterationProblem(
  before: Json | undefined,
  sent: Json,
  stored: Json,
  alterations: readonly Alteration[],
): string | undefined {
  const spec = specOf(stored);
  for (const { field, to } of alterations) {
    if (to === '(set by the server)') continue;
    const now = received(valueAt(stored, field));
    if (now !== to) return `announced ${field} → ${to}, stored is ${now}`;
  }
  const explains = (path: string) =>
    alterations.some(
      ({ field }) => path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`),
    );
  const silent = differences(merged(before, sent), spec).filter((path) => !explains(path));
  return silent.length === 0 ? undefined : `not announced: ${silent.join(', ')}`;
}

/** As it went over the wire: `undefined` is absent and minus zero is zero. */
function sentBody(options: CallOptions): Json | undefined {
  // Reading a hostile text is the server's task; the law needs the small ones that were accepted.
  if ((options.yaml ?? options.raw ?? '').length > MAX_SENT) return undefined;
  try {
    if (options.yaml !== undefined) return onWire(parseYaml(options.yaml, { logLevel: 'silent' }));
    if (options.raw !== undefined) return onWire(JSON.parse(options.raw.toString()));
  } catch {
    return undefined;
  }
  return options.body === undefined ? undefined : onWire(options.body);
}

function onWire(value: unknown): Json | undefined {
  const sent: unknown = JSON.parse(JSON.stringify(value));
  return isObject(sent) ? sent : undefined;
}

const SPEC_WRITE = /^\/api\/v1\/(deployments|jobs)(?:\/([^/?]+))?$/;

interface Memory {
  readonly before?: Snapshot;
  readonly deployment?: Json;
}

export interface LawOptions {
  readonly kv: Kv;
  readonly api: ApiClient;
  readonly adminToken: string;
  /** Tenant that a token acts for when no header says otherwise. */
  readonly tenantOf: (token: string) => string | undefined;
}

/** The two laws of quality.md, checked around every call that is not marked as running beside others. */
export class Laws implements CallObserver {
  readonly #options: LawOptions;
  readonly #mirror: Mirror;
  checked = 0;

  constructor(options: LawOptions) {
    this.#options = options;
    this.#mirror = new Mirror(options.kv);
  }

  async before(method: string, path: string, options: CallOptions): Promise<Memory> {
    if (options.laws === false) return {};
    const before = await this.#mirror.take();
    if (before.values.size > MAX_COMPARED)
      throw new Error(`the store has more than ${MAX_COMPARED} keys; call with laws: false`);
    const sent = method === 'PUT' && SPEC_WRITE.test(path) ? sentBody(options) : undefined;
    const deployment = sent === undefined ? undefined : await this.#stored(path, sent, options);
    return { before, ...(deployment === undefined ? {} : { deployment }) };
  }

  async after(
    method: string,
    path: string,
    options: CallOptions,
    answer: Answer,
    memory: unknown,
  ): Promise<void> {
    const { before, deployment } = memory as Memory;
    const problem = await this.#problem(method, path, options, answer, before, deployment);
    this.checked += 1;
    if (problem !== undefined)
      throw new LawBroken(`${method} ${path.slice(0, 120)} → ${answer.status}: ${problem}`);
  }

  async #problem(
    method: string,
    path: string,
    options: CallOptions,
    answer: Answer,
    before: Snapshot | undefined,
    deployment: Json | undefined,
  ): Promise<string | undefined> {
    if (!answer.headers['x-request-id']) return 'there is no X-Request-ID';
    if (answer.status >= 400) {
      const record = path.startsWith('/api/') ? recordProblem(answer, this.#options.api.baseUrl) : undefined;
      return record ?? (before === undefined ? undefined : await this.#storedSomething(before, answer));
    }
    const write = before !== undefined && (method === 'POST' || method === 'PUT');
    if (!write || !SPEC_WRITE.test(path)) return undefined;
    const sent = sentBody(options);
    if (sent === undefined || answer.headers['idempotency-replayed'] !== undefined) return undefined;
    const stored = await this.#stored(path, { ...sent, name: answer.body['name'] }, options);
    if (stored === undefined) return 'an accepted write cannot be read';
    const shown = Object.entries(stored).filter(([key]) => key !== 'status');
    for (const [key, value] of shown)
      if (!isDeepStrictEqual(answer.body[key], value)) return `the answer and the read differ in ${key}`;
    const alterations = answer.body['alterations'] as readonly Alteration[];
    return alterationProblem(deployment, sent, stored, alterations);
  }

  async #storedSomething(before: Snapshot, { body }: Answer): Promise<string | undefined> {
    const after = await this.#mirror.take();
    // Every commit has a revision; what got round that is found by `end`.
    if (after.revision === before.revision) return undefined;
    const isOnRecord = REFUSED_BY_NODE.has(String(body['code']));
    const keys = askedChanges(before, after).filter((key) => !isOnRecord || parseKey(key)?.kind !== 'audit');
    return keys.length === 0 ? undefined : `a rejection changed ${keys.join(', ')}`;
  }

  /** After the last call: nothing was stored but under a revision. */
  async end(): Promise<void> {
    const keys = await this.#mirror.end();
    if (keys.length > 0) throw new LawBroken(`stored without a revision: ${keys.join(', ')}`);
  }

  async #stored(path: string, sent: Json, options: CallOptions): Promise<Json | undefined> {
    const [, kind = 'deployments', inPath] = SPEC_WRITE.exec(path) ?? [];
    const name =
      inPath ??
      (typeof sent['name'] === 'string' && sent['name'].isWellFormed()
        ? encodeURIComponent(sent['name'])
        : undefined);
    if (name === undefined || name === '') return undefined;
    const { api, adminToken, tenantOf } = this.#options;
    const tenant = options.tenant ?? tenantOf(options.token ?? api.token);
    const answer = await api.send('GET', `/api/v1/${kind}/${name}`, {
      token: adminToken,
      ...(tenant === undefined ? {} : { tenant }),
    });
    return answer.status === 200 ? answer.body : undefined;
  }
}
