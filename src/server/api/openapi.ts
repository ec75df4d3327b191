import { jsonSchema, type SchemaUse, type Shape } from '../../core/schema/shape.ts';
import { IF_MATCH, UUID } from '../../core/contract/forms.ts';
import { rolesThatMay } from '../../core/model/permission.ts';
import { CATALOGUE, type RejectionCode } from '../../core/rejections/catalogue.ts';
import { REJECTIONS_TYPE } from '../../core/operations/queries.ts';
import type { Route } from './route.ts';

type Schema = Readonly<Record<string, unknown>>;

/** What every route under /api/v1 can answer, whatever it does. */
const SHARED_CODES: readonly RejectionCode[] = [
  'unauthenticated',
  'role_forbidden',
  'csrf_token_invalid',
  'tenant_forbidden',
  'tenant_not_found',
  'rate_limited',
  'connection_limit_reached',
  'answers_unread',
  'header_duplicate',
  'header_invalid',
  'query_parameter_unknown',
  'query_parameter_invalid',
  'store_unavailable',
  'internal_error',
];

/** What a write can answer that adds to what is stored. */
const WRITE_CODES: readonly RejectionCode[] = ['memory_low', 'quota_exceeded'];

const BODY_CODES: readonly RejectionCode[] = [
  'body_malformed',
  'body_too_large',
  'body_too_deep',
  'content_type_unsupported',
  'field_unknown',
  'field_type_invalid',
];

export function codesOf(route: Route): readonly RejectionCode[] {
  const ofBody = route.body === undefined ? [] : BODY_CODES;
  const ofStreams: readonly RejectionCode[] = route.lasts === undefined ? [] : ['stream_limit_reached'];
  const ofWrites = route.method === 'POST' || route.method === 'PUT' ? WRITE_CODES : [];
  return [...new Set([...SHARED_CODES, ...ofWrites, ...ofBody, ...ofStreams, ...route.codes])];
}

/** Answers by status: a dry run stores nothing, so that what would be 201 is 200. */
export function successesOf({ success, query }: Route): Readonly<Record<number, string>> {
  const dry = success.status === 201 && query?.['dryRun'] !== undefined;
  return {
    [success.status]: success.description,
    ...success.also,
    ...(dry ? { 200: 'What would be stored, and the plan; nothing was.' } : {}),
  };
}

const text = { type: 'string' } as const;

function header(description: string, schema: Schema = text): Schema {
  return { description, schema };
}

const AMONG = {
  'X-Berth-Rejections': header(
    'With all=true: pairs of code and field of everything that is refused, with commas between them; fields are percent-encoded.',
  ),
};

const RETRY_AFTER = { 'Retry-After': header('Seconds after which to ask again.', { type: 'integer' }) };

function successHeaders({ query, method, success, lasts }: Route): Record<string, Schema> {
  const isList = success.answer?.type === 'list';
  return {
    'X-Request-Id': header('As in the log and the audit.'),
    ...(query?.['cursor'] !== undefined
      ? { Link: header('The next page, rel="next"; absent on the last one.') }
      : {}),
    ...(isList ? {} : { ETag: header('Revision of the record, for If-Match; absent where there is none.') }),
    ...(method === 'POST'
      ? { 'Idempotency-Replayed': header('true: the answer to the first request with this key.') }
      : {}),
    ...(lasts === 'as-events'
      ? {
          'Last-Event-ID': header(
            'Live: where it begins; for a reader that is cut off before its first event.',
          ),
        }
      : {}),
  };
}

function refusalHeaders(status: number, asksForAll: boolean): { readonly headers?: Schema } {
  if (status === 429 || status === 503) return { headers: RETRY_AFTER };
  return asksForAll && status < 500 ? { headers: AMONG } : {};
}

const EVENTS = 'text/event-stream';

function responsesOf(route: Route, use: SchemaUse): Record<string, unknown> {
  const byStatus = new Map<number, RejectionCode[]>();
  for (const code of codesOf(route)) {
    const entry = CATALOGUE[code];
    for (const status of [entry.status, ...(entry.alsoStatus === undefined ? [] : [entry.alsoStatus])]) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  const { answer, media = [] } = route.success;
  const content = {
    ...(answer === undefined ? {} : { 'application/json': { schema: jsonSchema(answer, use) } }),
    // Without a schema where the body is a row of events: a reader of events holds it to each of them, one of bodies to the whole.
    ...Object.fromEntries(media.map((type) => [type, type === EVENTS ? {} : { schema: text }])),
  };
  const responses: Record<string, unknown> = {};
  const all = route.query?.['all'];
  const asksForAll = all !== undefined && all.sameAnswer !== true;
  for (const [status, description] of Object.entries(successesOf(route))) {
    responses[status] = {
      description,
      headers: successHeaders(route),
      ...(Object.keys(content).length === 0 ? {} : { content }),
      // Beside the content and not in it: generated clients would get a union for every write, for the sake of one parameter.
      ...(asksForAll && status === '200'
        ? { 'x-with-all': { [REJECTIONS_TYPE]: { schema: { $ref: '#/components/schemas/Rejections' } } } }
        : {}),
    };
  }
  for (const [failure, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[failure] = {
      description: `Rejected: ${codes.join(', ')}`,
      ...refusalHeaders(failure, asksForAll),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Rejection' } } },
      'x-codes': codes,
    };
  }
  return responses;
}

function headerParameters({ method, tenant, codes, lasts }: Route): readonly Schema[] {
  const optional = (name: string, description: string, schema: Schema = text) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  });
  return [
    {
      ...optional(
        'X-Tenant-ID',
        "Tenant id or slug; must agree with the credential unless it is a platform administrator's.",
        tenant === 'header-uuid' ? { ...text, ...UUID } : text,
      ),
      required: tenant.startsWith('header'),
    },
    ...(method === 'POST'
      ? [
          optional('Idempotency-Key', 'The same key again answers as the first time, for a day.', {
            ...text,
            pattern: '^[!-~]{1,255}$',
          }),
        ]
      : []),
    ...(codes.includes('revision_mismatch')
      ? [optional('If-Match', 'Only this revision of the record: its ETag.', { ...text, ...IF_MATCH })]
      : []),
    ...(lasts === 'as-events'
      ? [
          optional(
            'Last-Event-ID',
            'Live: all that came after the event with this id, or after the moment that an answer began at, and what comes then.',
          ),
        ]
      : []),
  ];
}

function permissionWords({ permission }: Route): string {
  const wanted = typeof permission === 'string' ? [permission] : permission;
  const roles = rolesThatMay(wanted);
  return `Needs the permission ${wanted.join(' or ')}${roles.length === 0 ? '' : `: ${roles.join(', ')}`}.`;
}

function operationOf(route: Route, named: NamedSchemas): Record<string, unknown> {
  const inPath = [...route.path.matchAll(/\{([A-Za-z]+)\}/g)].map((match) => match[1] ?? '');
  return {
    summary: route.summary,
    description: `${route.summary}. ${permissionWords(route)}`,
    tags: [route.tag],
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/\/api\/v1|[{}]/g, '').replaceAll(/[/-]+(.)/g, (_, letter: string) => letter.toUpperCase())}`,
    'x-permission': route.permission,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: { ...text, minLength: 1 } })),
      ...Object.entries(route.query ?? {}).map(([name, { description, schema, required = false }]) => ({
        name,
        in: 'query',
        required,
        description,
        schema,
      })),
      ...headerParameters(route),
    ],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.body.optional !== true,
            content: {
              'application/json': { schema: jsonSchema(route.body.shape, named.use('body')) },
              ...(route.body.yaml
                ? { 'application/yaml': { schema: jsonSchema(route.body.shape, named.use('body')) } }
                : {}),
            },
          },
        }),
    responses: responsesOf(route, named.use('answer')),
    security: [{ token: [] }],
  };
}

const REJECTION = {
  type: 'object',
  description: 'Why nothing was stored, and how to fix it.',
  properties: {
    code: { type: 'string', enum: Object.keys(CATALOGUE) },
    field: text,
    received: text,
    expected: text,
    why: text,
    doc: { type: 'string', format: 'uri' },
  },
  required: ['code', 'field', 'received', 'expected', 'why', 'doc'],
  additionalProperties: false,
} as const;

const REJECTIONS = {
  type: 'object',
  description: 'All that is refused in a document that was only tried; none: it would be taken.',
  properties: { rejections: { type: 'array', items: { $ref: '#/components/schemas/Rejection' } } },
  required: ['rejections'],
  additionalProperties: false,
} as const;

/** What has a name among bodies and answers is described once, with all that it refers to. */
class NamedSchemas {
  readonly schemas: Record<string, Schema> = {};

  use(of: SchemaUse['of']): SchemaUse {
    return { of, name: (name, shape) => this.#take(name, shape, this.use(of)) };
  }

  #take(name: string, shape: Shape, use: SchemaUse): void {
    if (Object.hasOwn(this.schemas, name)) return;
    const { named: _n, nullable: _c, optional: _o, ...described } = shape;
    this.schemas[name] = {};
    this.schemas[name] = jsonSchema(described, use);
  }
}

/** OpenAPI 3.1, from the same route table, shapes and catalogue that the server uses. */
export function openapiDocument(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  const named = new NamedSchemas();
  for (const route of routes) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationOf(route, named),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version,
      description:
        'Multi-tenant container deployment control plane. Every rejection carries a stable code; clients branch on it and never on the text.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'berth_<kind>_<id>_<secret>_<checksum>' },
      },
      schemas: {
        ...named.schemas,
        Rejection: REJECTION,
        Rejections: REJECTIONS,
      },
    },
  };
}
