import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openapiDocument } from '../../src/server/api/openapi.ts';
import { apiRoutes } from '../../src/server/api/routes/index.ts';
import { ACCEPTED, operationsOf, resolverOf, type Schema } from '../support/openapi-fuzz.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

/** What the document says of every operation alike, asked of the control plane that serves it. */

const document = openapiDocument(apiRoutes({} as never), 'test');
const operations = operationsOf(document);
const resolved = resolverOf(document);
const methodsOf = Map.groupBy(operations, ({ path }) => path);

let plane: ControlPlane;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane({ laws: false, logLevel: 'error' });
  shop = await plane.tenant('shop');
  const made = await call('POST', '/api/v1/deployments', ACCEPTED['/api/v1/deployments'], false);
  expect(made.status, made.text).toBe(201);
});
afterAll(() => plane.close());

function call(method: string, path: string, body: unknown, platform: boolean) {
  return plane.api.call(method, path, {
    token: platform ? plane.adminToken : shop.tokens['tenant-admin'],
    ...(body === undefined ? {} : { body }),
  });
}

/** Of what exists, where it does. */
function place(path: string): string {
  return path
    .replace('{tenant}', 'shop')
    .replace('{namespace}', 'resources')
    .replaceAll(/\{\w+\}/g, 'web');
}

/** Paths that a written one falls under as well: `/backups/import` is a `/backups/{id}`. */
function isUnder(template: string, path: string): boolean {
  const parts = template.split('/');
  const sent = path.split('/');
  return parts.length === sent.length && parts.every((part, at) => part.startsWith('{') || part === sent[at]);
}

function isNullable(schema: Schema): boolean {
  const known = resolved(schema);
  if (known.type === undefined && known.anyOf === undefined) return true;
  return [known.type].flat().includes('null') || (known.anyOf ?? []).some(isNullable);
}

describe('every path', () => {
  it.each([...methodsOf.keys()])('%s answers QUERY with 405 and what it takes', async (path) => {
    const answer = await call('QUERY', place(path), undefined, true);
    expect([answer.status, answer.body['code']], answer.text).toEqual([405, 'method_not_allowed']);
    const wanted = [...methodsOf]
      .filter(([template]) => isUnder(template, place(path)))
      .flatMap(([, each]) => each.map(({ method }) => method));
    expect(answer.headers.allow?.split(', ').toSorted()).toEqual([...new Set(wanted)].toSorted());
  });
});

/** Every field, however deep, with a body that holds nothing else around it. */
function* fieldsOf(
  schema: Schema,
  wrap: (value: unknown) => unknown,
  depth = 0,
): Generator<{ readonly field: string; readonly schema: Schema; readonly body: unknown }> {
  const { properties = {}, items, anyOf = [] } = resolved(schema);
  if (depth > 4) return;
  for (const one of anyOf) yield* fieldsOf(one, wrap, depth + 1);
  if (items !== undefined) yield* fieldsOf(items, (value) => wrap([value]), depth + 1);
  for (const [field, member] of Object.entries(properties)) {
    const within = (value: unknown) => wrap({ [field]: value });
    yield { field, schema: member, body: within(null) };
    yield* fieldsOf(member, within, depth + 1);
  }
}

describe('null', () => {
  const withBody = operations.filter(({ body }) => body !== undefined);

  it.each(withBody)('of $method $path is taken where the document says so', async (operation) => {
    const { properties = {} } = resolved(operation.body ?? {});
    for (const { field, schema, body } of fieldsOf(operation.body ?? {}, (value) => value)) {
      const sent = { ...ACCEPTED[operation.path], ...(body as object) };
      const answer = await call(operation.method, place(operation.path), sent, operation.platform);
      const isRefused = answer.status === 422 && answer.body['field'] === field;
      const why = `${JSON.stringify(body)}: ${answer.text}`;
      // What is accepted is held to the document by the client itself.
      if (!isNullable(schema)) expect(answer.status, why).toBeGreaterThanOrEqual(400);
      else if (schema === properties[field]) expect(isRefused, why).toBe(false);
    }
  });
});
