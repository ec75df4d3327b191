import { jsonSchema, type Shape } from '../../core/contract/shape.ts';
import { deploymentBody } from '../../core/contract/deployment-body.ts';
import { jobBody } from '../../core/contract/job-body.ts';
import { CATALOGUE, type RejectionCode } from '../../core/rejections/catalogue.ts';
import type { Route } from './route.ts';
import { RECORD_SCHEMAS } from './openapi-schemas.ts';

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
  'query_parameter_unknown',
  'query_parameter_invalid',
  'store_unavailable',
  'internal_error',
];

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
  return [...new Set([...SHARED_CODES, ...ofBody, ...ofStreams, ...route.codes])];
}

function responsesOf(route: Route): Record<string, unknown> {
  const byStatus = new Map<number, RejectionCode[]>();
  for (const code of codesOf(route)) {
    const entry = CATALOGUE[code];
    for (const status of [entry.status, ...(entry.alsoStatus === undefined ? [] : [entry.alsoStatus])]) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  const { status, description, schema } = route.success;
  const responses: Record<string, unknown> = {
    [status]: {
      description,
      ...(schema === undefined ? {} : { content: { 'application/json': { schema } } }),
    },
  };
  for (const [failure, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[failure] = {
      description: `Rejected: ${codes.join(', ')}`,
      content: {
        'application/json': {
          schema: {
            allOf: [{ $ref: '#/components/schemas/Rejection' }, { properties: { code: { enum: codes } } }],
          },
        },
      },
    };
  }
  return responses;
}

function operationOf(route: Route): Record<string, unknown> {
  const inPath = [...route.path.matchAll(/\{([A-Za-z]+)\}/g)].map((match) => match[1] ?? '');
  const tenantHeader = {
    name: 'X-Tenant-ID',
    in: 'header',
    required: route.tenant.startsWith('header'),
    description: "Tenant id or slug; must agree with the credential unless it is a platform administrator's.",
    schema: { type: 'string' },
  };
  return {
    summary: route.summary,
    tags: [route.tag],
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/\/api\/v1|[{}]/g, '').replaceAll(/[/-]+(.)/g, (_, letter: string) => letter.toUpperCase())}`,
    'x-permission': route.permission,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...Object.entries(route.query ?? {}).map(([name, { description, schema }]) => ({
        name,
        in: 'query',
        required: false,
        description,
        schema,
      })),
      tenantHeader,
      ...(route.method === 'POST'
        ? [
            {
              name: 'Idempotency-Key',
              in: 'header',
              required: false,
              schema: { type: 'string', maxLength: 255 },
            },
          ]
        : []),
    ],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.body.optional !== true,
            content: {
              'application/json': {
                schema: DESCRIPTIONS.get(route.body.shape) ?? jsonSchema(route.body.shape),
              },
              ...(route.body.yaml ? { 'application/yaml': { schema: { type: 'object' } } } : {}),
            },
          },
        }),
    responses: responsesOf(route),
    security: [{ token: [] }],
  };
}

/** Bodies that are described once and referred to. */
const DESCRIPTIONS: ReadonlyMap<Shape, { readonly $ref: string }> = new Map<Shape, { readonly $ref: string }>(
  [
    [deploymentBody, { $ref: '#/components/schemas/DeploymentDescription' }],
    [jobBody, { $ref: '#/components/schemas/JobDescription' }],
  ],
);

/** OpenAPI 3.1, from the same route table, shapes and catalogue that the server uses. */
export function openapiDocument(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
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
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'berth_<kind>_<id>_<secret>_<checksum>' },
      },
      schemas: {
        ...RECORD_SCHEMAS,
        DeploymentDescription: jsonSchema(deploymentBody),
        JobDescription: jsonSchema(jobBody),
        Rejection: {
          type: 'object',
          description: 'Why nothing was stored, and how to fix it.',
          properties: {
            code: { type: 'string', enum: Object.keys(CATALOGUE) },
            field: { type: 'string' },
            received: { type: 'string' },
            expected: { type: 'string' },
            why: { type: 'string' },
            doc: { type: 'string', format: 'uri' },
          },
          required: ['code', 'field', 'received', 'expected', 'why', 'doc'],
          additionalProperties: false,
        },
      },
    },
  };
}
