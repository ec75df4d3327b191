import { queryOf } from './request-parts.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { allows } from '../../core/model/permission.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { type AccessDependencies, authenticate, platformTenantId } from '../access/authenticate.ts';
import { queryRejection, rateRejection } from './admit-request.ts';
import { createDocsLibrary, type DocsLibrary } from './docs/library.ts';
import { DOCS_CONTENT_SECURITY_POLICY, docsPage } from './docs/pages.ts';
import type { HealthReport } from './health.ts';
import { addressGroup } from './limits/address-group.ts';
import type { Metrics } from './metrics.ts';
import type { RateLimiter } from './rate-limit.ts';
import { sendRejection } from './replies.ts';
import { etagOf, sendFile } from './static-files.ts';
import type { ApiOptions } from './api-context.ts';

export interface PublicOptions {
  readonly health: () => Promise<HealthReport>;
  readonly ready: () => boolean;
  readonly metrics: Metrics;
  readonly metricsRefusal: (request: FastifyRequest) => Rejection | undefined;
  readonly refusals: ApiOptions;
  readonly openapi: () => Buffer;
  readonly baseUrl: (request: FastifyRequest) => string;
}

/** What programs read there; people may put what they like behind the address of a page. */
export const PUBLIC_DOCUMENTS = ['/healthz', '/readyz', '/metrics', '/openapi.json'] as const;

/** Figures of the whole installation: for a token of the platform's tenant; the role `metrics` reads them and nothing else. */
export function metricsRefusal(
  access: AccessDependencies,
  limiter: RateLimiter,
  { headers }: Pick<FastifyRequest, 'headers'>,
): Rejection | undefined {
  const principal = authenticate(access, headers.authorization);
  if (isRejection(principal)) return principal;
  const { role, kind, tenantId, tokenId } = principal;
  const tooFast = rateRejection(limiter, tokenId, headers);
  if (tooFast) return tooFast;
  const isReader = allows(role, 'metrics.read') || allows(role, 'read');
  if (isReader && kind !== 'join' && tenantId === platformTenantId(access.store)) return undefined;
  return reject('role_forbidden', {
    field: 'Authorization',
    received: role,
    expected: "a token of the platform's tenant; metrics.open serves them to anybody",
    why: 'Metrics are figures of the whole installation.',
  });
}

/** Where anybody may read them: each address as fast as a token may ask for anything else. */
export function openMetricsRefusal(
  limiter: RateLimiter,
  { raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>,
): Rejection | undefined {
  const address = addressGroup(raw.socket.remoteAddress ?? '');
  return rateRejection(limiter, `address ${address}`, headers, 'address');
}

/** Paths beside the interface: health, metrics, the OpenAPI document and the documentation. None names a tenant. */
export function addPublicPaths(app: FastifyInstance, options: PublicOptions): void {
  const plain = {
    preHandler: async (request: FastifyRequest, reply: FastifyReply) => {
      const unknown = queryRejection({}, queryOf(request));
      if (unknown) return sendRejection({ options: options.refusals }, request, reply, unknown);
      return undefined;
    },
  };
  app.get('/healthz', plain, async (_request, reply) => {
    const report = await options.health();
    return reply
      .code(report.status === 'ok' ? 200 : 503)
      .headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
      .send(JSON.stringify(report));
  });
  app.get('/readyz', plain, async (_request, reply) => {
    const ready = options.ready();
    return reply
      .code(ready ? 200 : 503)
      .headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
      .send(JSON.stringify({ ready }));
  });
  app.get('/metrics', plain, async (request, reply) => {
    const refusal = options.metricsRefusal(request);
    if (refusal) return sendRejection({ options: options.refusals }, request, reply, refusal);
    return reply
      .header('content-type', options.metrics.registry.contentType)
      .send(await options.metrics.text());
  });
  app.get('/openapi.json', plain, async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(options.openapi()),
  );
  addDocs(app, options.baseUrl);
}

const DOCS_HEADERS = {
  'content-security-policy': DOCS_CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
} as const;

/** Text that is the same for everybody, and the same until the next release: no credential is asked for, and a copy may be kept a while. */
const DOCS_CACHE = 'public, max-age=300';

export function addDocs(
  app: FastifyInstance,
  baseUrl: (request: FastifyRequest) => string,
  library: DocsLibrary = createDocsLibrary(),
): void {
  const docs = async (request: FastifyRequest, reply: FastifyReply) => {
    const [path = '', query] = request.url.split(/\?(.*)/s, 2);
    const built = library.file(path.slice('/docs'.length));
    if (built !== undefined)
      return sendFile(request, reply, { ...built, cacheControl: DOCS_CACHE }, DOCS_HEADERS);
    const page = docsPage(path, query, baseUrl(request), library.entries());
    if (page === undefined) return reply.callNotFound();
    const etag = etagOf(page.body);
    const kept =
      page.status === 200 ? { 'cache-control': DOCS_CACHE, etag } : { 'cache-control': 'no-store' };
    void reply.headers({ ...DOCS_HEADERS, ...kept, 'content-type': page.contentType });
    if (page.status === 200 && request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.code(page.status).send(page.body);
  };
  app.get('/docs', docs);
  app.get('/docs/*', docs);
}
