import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../core/rejections/catalogue.ts';
import { Metrics } from './metrics.ts';
import { codesOf, openapiDocument } from './openapi.ts';
import { OPERATIONS } from '../../core/operations/index.ts';
import { apiRoutes } from './routes/index.ts';

const routes = apiRoutes({} as never);
const document = openapiDocument(routes, '1.2.3');

it('serves every operation of the table, and no other', () => {
  const names = (all: readonly { readonly method: string; readonly path: string }[]) =>
    all.map(({ method, path }) => `${method} ${path}`).toSorted();
  expect(names(routes)).toEqual(names(Object.values(OPERATIONS).flatMap((group) => Object.values(group))));
});
type Operation = Readonly<{
  operationId: string;
  parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  responses: Readonly<Record<string, { readonly description: string }>>;
  requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}>;
const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
const operations = Object.values(paths).flatMap((path) => Object.values(path));

function operationOf(path: string, method: string): Operation {
  const operation = paths[path]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${path} is not in the document`);
  return operation;
}

function* members(value: unknown): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const entry of Object.entries(value)) {
    yield entry;
    yield* members(entry[1]);
  }
}

/** What generators call the sets of values inside of a schema: the schema, then the properties on the way. */
function* namesOfSets(name: string, schema: unknown): Generator<readonly [string, string]> {
  if (typeof schema !== 'object' || schema === null) return;
  const { enum: values, properties = {}, items } = schema as Readonly<Record<string, object>>;
  if (values !== undefined) yield [name, JSON.stringify(values)];
  for (const [field, inner] of Object.entries(properties))
    yield* namesOfSets(`${name}${field.charAt(0).toUpperCase()}${field.slice(1)}`, inner);
  yield* namesOfSets(`${name}Item`, items);
}

describe('the OpenAPI document', () => {
  it('leads generators to one name for one set of values', () => {
    const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, unknown>> };
    const values = new Map<string, string>();
    for (const [name, schema] of Object.entries(schemas))
      for (const [set, held] of namesOfSets(name, schema))
        expect(values.set(set, values.get(set) ?? held).get(set), set).toBe(held);
    expect(values.size).toBeGreaterThan(50);
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Berth', version: '1.2.3' } });
  });

  it('has every route, and nothing else', () => {
    const listed = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(listed.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
    expect(new Set(listed).size).toBe(routes.length);
    expect(routes.length).toBeGreaterThan(15);
  });

  it('names each operation once, in words a generator can use', () => {
    const names = operations.map((operation) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z0-9]*$/);
  });

  it('refers only to what it holds', () => {
    const references = [...members(document)].flatMap(([key, value]) =>
      key === '$ref' ? [String(value)] : [],
    );
    expect(references.length).toBeGreaterThan(10);
    for (const reference of references) {
      const found = reference
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>(
          (from, part) => (from as Readonly<Record<string, unknown>> | undefined)?.[part],
          document,
        );
      expect(found, reference).toBeTypeOf('object');
    }
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
    const operation = operationOf(route.path, route.method);
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const named = (where: string) =>
      operation.parameters.filter((parameter) => parameter.in === where).map((parameter) => parameter.name);
    expect(named('path')).toEqual(inPath);
    expect(named('query')).toEqual(Object.keys(route.query ?? {}));
    expect(named('header')).toContain('X-Tenant-ID');
    expect(operation.requestBody !== undefined).toBe(route.body !== undefined);
    expect(operation.responses[route.success.status]?.description).toBe(route.success.description);
    for (const code of codesOf(route)) {
      expect(Object.hasOwn(CATALOGUE, code), code).toBe(true);
      const words = operation.responses[CATALOGUE[code].status]?.description.split(/[ ,:]+/);
      expect(words, code).toContain(code);
    }
    expect(route.path).toMatch(/^\/api\/v1\/[a-z]/);
    expect(route.summary).not.toBe('');
  });

  it('lists every code of the catalogue for the rejection', () => {
    const schemas = (document['components'] as { schemas: Record<string, unknown> }).schemas;
    expect(schemas['Rejection']).toMatchObject({
      properties: { code: { enum: Object.keys(CATALOGUE) } },
      required: ['code', 'field', 'received', 'expected', 'why', 'doc'],
      additionalProperties: false,
    });
  });
});

describe('metrics', () => {
  it('count requests by route template and status', async () => {
    const metrics = new Metrics();
    const route = routes.find((each) => each.path.includes('{name}')) ?? routes[0];
    if (route === undefined) throw new Error('no route');
    metrics.request(route, 200, 0.004);
    metrics.request(route, 200, 0.004);
    metrics.request(route, 404, 0.004);
    metrics.gauge('berth_test_value', 'A number.', () => 42);
    const text = await metrics.text();
    const labels = `method="${route.method}",route="${route.path}"`;
    expect(text).toContain(`berth_http_requests_total{${labels},status="200"} 2`);
    expect(text).toContain(`berth_http_requests_total{${labels},status="404"} 1`);
    expect(text).toContain(`berth_http_request_seconds_count{${labels}} 3`);
    expect(text).toContain(`berth_http_request_seconds_bucket{le="0.005",${labels}} 3`);
    expect(text).toContain('berth_test_value 42');
  });
});
