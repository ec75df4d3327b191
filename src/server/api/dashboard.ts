import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Files, sendFile, type StaticFile, staticFiles } from './static-files.ts';

/** Beside the sources of a checkout, and inside `dist` of an installation. */
const FOLDERS = ['../../../dist/dashboard', '../../dashboard'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
/** Scripts, styles and connections of our own origin only; nothing inline, no frames, no text that becomes a script. */
const SECURITY_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const;

const NOT_BUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Berth</title></head>
<body><h1>The dashboard is not built</h1>
<p>This control plane is running and answers its <a href="/docs">API</a>. Its dashboard has not been built yet: run
<code>npm run dashboard</code> in the checkout, then load this page again.</p>
</body></html>
`;

/** Pages of the application, which draws them itself; everything else that is not known stays a rejection. */
function isPage(request: FastifyRequest): boolean {
  if (request.method !== 'GET' || !request.headers.accept?.includes('text/html')) return false;
  const first = request.url.split(/[/?]/, 2)[1] ?? '';
  return !['api', 'agent', 'docs', 'assets'].includes(first) && !first.includes('.');
}

export interface Dashboard {
  /** Answers a page of the application at a path that no route has; undefined: it is none. */
  readonly page: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;
  readonly addPaths: (app: FastifyInstance) => void;
}

export function createDashboard(folders: readonly string[] = FOLDERS): Dashboard {
  const files: () => Files = staticFiles(folders);
  const send = (request: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply =>
    sendFile(request, reply, file, SECURITY_HEADERS);
  const index = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const file = files().get('/index.html');
    if (file !== undefined) return send(request, reply, file);
    return reply
      .code(503)
      .headers({
        ...SECURITY_HEADERS,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
      })
      .send(NOT_BUILT);
  };
  return {
    page: (request, reply) => (isPage(request) ? index(request, reply) : undefined),
    addPaths: (app) => {
      app.get('/', (request, reply) => index(request, reply));
      const file = (request: FastifyRequest, reply: FastifyReply) => {
        const found = files().get(request.url.split('?', 1)[0] ?? '');
        return found === undefined ? reply.callNotFound() : send(request, reply, found);
      };
      app.get('/assets/*', file);
      app.get('/favicon.svg', file);
    },
  };
}
