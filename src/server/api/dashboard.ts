import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Beside the sources of a checkout, and inside `dist` of an installation. */
const FOLDERS = ['../../../dist/dashboard', '../../dashboard'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
/** Written last by the build: without it a folder holds sources or half a build. */
const BUILT = 'built.json';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

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

interface StaticFile {
  readonly contentType: string;
  readonly etag: string;
  readonly cacheControl: string;
  readonly plain: Buffer;
  readonly encoded: Readonly<Partial<Record<'br' | 'gzip', Buffer>>>;
}

type Files = ReadonlyMap<string, StaticFile>;

function optional(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}

function staticFile(folder: string, name: string): StaticFile {
  const path = join(folder, name);
  const plain = readFileSync(path);
  const br = optional(`${path}.br`);
  const gzip = optional(`${path}.gz`);
  return {
    contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    // Names under assets carry a digest of the content, so they never change.
    cacheControl: name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    plain,
    encoded: { ...(br === undefined ? {} : { br }), ...(gzip === undefined ? {} : { gzip }) },
  };
}

/** All of it in memory: it is small, and a request then looks up a name and never touches a path. */
function loadFiles(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:br|gz)$/.test(entry.name) && entry.name !== BUILT)
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return new Map(names.map((name) => [`/${name}`, staticFile(folder, name)]));
}

/** Named, and not with a weight of nothing. */
function accepts(header: string | string[] | undefined, coding: string): boolean {
  return String(header ?? '')
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim().toLowerCase()))
    .some(([name, ...parameters]) => {
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return name === coding && Number(weight) > 0;
    });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply {
  const encoding = (['br', 'gzip'] as const).find(
    (name) => file.encoded[name] !== undefined && accepts(request.headers['accept-encoding'], name),
  );
  void reply.headers({
    ...SECURITY_HEADERS,
    'content-type': file.contentType,
    'cache-control': file.cacheControl,
    etag: file.etag,
    vary: 'Accept-Encoding',
  });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  if (encoding === undefined) return reply.send(file.plain);
  return reply.header('content-encoding', encoding).send(file.encoded[encoding]);
}

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
  let loaded: Files | undefined;
  const files = (): Files => {
    if (loaded !== undefined) return loaded;
    const folder = folders.find((candidate) => existsSync(join(candidate, BUILT)));
    if (folder === undefined) return new Map();
    loaded = loadFiles(folder);
    return loaded;
  };
  const index = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const file = files().get('/index.html');
    if (file !== undefined) return sendFile(request, reply, file);
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
        return found === undefined ? reply.callNotFound() : sendFile(request, reply, found);
      };
      app.get('/assets/*', file);
      app.get('/favicon.svg', file);
    },
  };
}
