import { ACCEPTED, type Operation, operationsOf, resolverOf } from '../openapi-fuzz.ts';
import {
  DOCUMENTS,
  HEADERS,
  largeIn,
  LONG_TEXTS,
  MOST_BYTES,
  QUERIES,
  YAML_DOCUMENTS,
} from './hostile-shapes.ts';

/** Whose credential is sent. */
export type Who = 'stranger' | 'viewer' | 'deployer' | 'tenant-admin';

export interface HostileRequest {
  /** What it is, for people: the same words name the same bytes. */
  readonly label: string;
  readonly who: Who;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Made when it is sent: all of them together would be gigabytes. */
  readonly body?: () => string;
}

const PUBLIC_PATHS = [
  '/',
  '/index.html',
  '/docs',
  '/docs/rejections',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/nothing',
];
/** Headers and queries are read by the same code for all; these are enough to meet each part of it. */
const MODELS = [
  'GET /api/v1/events',
  'GET /api/v1/deployments/{name}',
  'POST /api/v1/deployments',
  'PUT /api/v1/deployments/{name}',
  'GET /api/v1/session',
];
/** Half, since some of them are written with escapes. */
const LARGE_BYTES = MOST_BYTES * 0.45;
const JSON_TYPE = { 'content-type': 'application/json' };
const YAML_TYPE = { 'content-type': 'application/yaml' };

/** What the stage has, so that a path leads somewhere. */
function pathOf(path: string): string {
  return path
    .replace('{tenant}', 'rogue')
    .replace('{namespace}', 'resources')
    .replace('{version}', '2')
    .replaceAll(/\{[a-z]+\}/gi, 'web');
}

type Wish = Omit<HostileRequest, 'who' | 'method' | 'path' | 'headers'> & Partial<HostileRequest>;

function request(operation: Pick<Operation, 'method' | 'path'>, wish: Wish): HostileRequest {
  const { method, path } = operation;
  const { label, ...rest } = wish;
  return {
    who: method === 'GET' ? 'viewer' : 'tenant-admin',
    method,
    path: pathOf(path),
    headers: {},
    ...rest,
    label: `${method} ${path} ${label}`,
  };
}

function* withQueries(operation: Operation): Generator<HostileRequest> {
  const path = pathOf(operation.path);
  yield request(operation, { label: 'as it is' });
  for (const name of operation.queries.filter((query) => query !== 'follow')) {
    for (const [what, value] of Object.entries({
      digits: '9'.repeat(15_000),
      letters: 'a'.repeat(15_000),
      escapes: '%F0%9F%9A%A2'.repeat(1_200),
      'a word': 'none',
      'a number': '1000',
      'a time': '2001-01-01T00:00:00Z',
    }))
      yield request(operation, { label: `?${name} of ${what}`, path: `${path}?${name}=${value}` });
  }
}

function* withHeaders(operation: Pick<Operation, 'method' | 'path'>, who: Who): Generator<HostileRequest> {
  const body = operation.method === 'GET' ? {} : { body: () => '{}' };
  for (const [what, headers] of Object.entries(HEADERS))
    yield request(operation, { label: `with ${what}`, who, headers: { ...JSON_TYPE, ...headers }, ...body });
  for (const [what, query] of Object.entries(QUERIES))
    yield request(operation, {
      label: `with ${what}`,
      who,
      path: `${pathOf(operation.path)}?${query}`,
      headers: JSON_TYPE,
      ...body,
    });
}

function* withDocuments(operation: Operation): Generator<HostileRequest> {
  for (const [what, body] of Object.entries(DOCUMENTS))
    yield request(operation, { label: `JSON: ${what}`, headers: JSON_TYPE, body });
  if (!operation.yaml) return;
  for (const [what, body] of Object.entries(YAML_DOCUMENTS))
    yield request(operation, { label: `YAML: ${what}`, headers: YAML_TYPE, body });
}

/** Otherwise accepted, and as large as it may be in one place. */
function* withLargeFields(
  operation: Operation,
  schema: NonNullable<Operation['body']>,
  resolved: ReturnType<typeof resolverOf>,
): Generator<HostileRequest> {
  const accepted = ACCEPTED[operation.path];
  const seen = new Set<string>();
  for (const { place, by, make } of largeIn(schema, resolved)) {
    if (seen.has(place)) continue;
    seen.add(place);
    const texts = by === 'count' ? { many: () => '' } : LONG_TEXTS;
    for (const [what, text] of Object.entries(texts)) {
      const body = () => JSON.stringify({ ...accepted, ...(make(text(LARGE_BYTES)) as object) });
      yield request(operation, { label: `${place} of ${what}`, headers: JSON_TYPE, body });
    }
  }
}

/** Every request of the scan, for every operation of the served document and what is beside them. */
export function* hostileRequests(document: unknown): Generator<HostileRequest> {
  const resolved = resolverOf(document);
  const operations = operationsOf(document).filter(({ path }) => path.startsWith('/api/'));
  for (const path of PUBLIC_PATHS) {
    yield request({ method: 'GET', path }, { label: 'as it is', who: 'stranger' });
    yield* withHeaders({ method: 'GET', path }, 'stranger');
  }
  for (const slashes of ['/', '/a', '/%41', '/..', '/%2e%2e', ';a', '%']) {
    const path = `/api/v1/deployments${slashes.repeat(Math.floor(14_000 / slashes.length))}`;
    yield request(
      { method: 'GET', path: '/api/v1/deployments/…' },
      { label: `of ${slashes}`, path, who: 'viewer' },
    );
  }
  for (const operation of operations) {
    const name = `${operation.method} ${operation.path}`;
    yield* withQueries(operation);
    if (MODELS.includes(name))
      yield* withHeaders(operation, operation.method === 'GET' ? 'viewer' : 'tenant-admin');
    if (operation.body === undefined) continue;
    yield* withDocuments(operation);
    yield* withLargeFields(operation, operation.body, resolved);
    yield request(operation, {
      label: 'a megabyte without a credential',
      who: 'stranger',
      headers: JSON_TYPE,
      body: DOCUMENTS['many keys'] as () => string,
    });
    yield request(operation, {
      label: 'a megabyte from who may not',
      who: 'viewer',
      headers: JSON_TYPE,
      body: DOCUMENTS['many keys'] as () => string,
    });
  }
}
