import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';

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

export interface StaticFile {
  readonly contentType: string;
  readonly etag: string;
  readonly cacheControl: string;
  readonly plain: Buffer;
  readonly encoded: Readonly<Partial<Record<'br' | 'gzip', Buffer>>>;
}

export type Files = ReadonlyMap<string, StaticFile>;

function optional(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}

export function etagOf(content: Buffer | string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}

function staticFile(folder: string, name: string): StaticFile {
  const path = join(folder, name);
  const plain = readFileSync(path);
  const br = optional(`${path}.br`);
  const gzip = optional(`${path}.gz`);
  return {
    contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
    etag: etagOf(plain),
    // Names under assets carry a digest of the content, so they never change.
    cacheControl: name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    plain,
    encoded: { ...(br === undefined ? {} : { br }), ...(gzip === undefined ? {} : { gzip }) },
  };
}

/** All of it in memory: it is small, and a request then looks up a name and never touches a path. */
function loadFiles(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    // Markdown is for who has the package: notices of others.
    .filter((entry) => entry.isFile() && !/\.(?:br|gz|md)$/.test(entry.name) && entry.name !== BUILT)
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

export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
  security: Readonly<Record<string, string>>,
): FastifyReply {
  const encoding = (['br', 'gzip'] as const).find(
    (name) => file.encoded[name] !== undefined && accepts(request.headers['accept-encoding'], name),
  );
  void reply.headers({
    ...security,
    'content-type': file.contentType,
    'cache-control': file.cacheControl,
    etag: file.etag,
    vary: 'Accept-Encoding',
  });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  if (encoding === undefined) return reply.send(file.plain);
  return reply.header('content-encoding', encoding).send(file.encoded[encoding]);
}

/** The first folder that holds a whole build, read when it is first asked for, and again until there is one. */
export function staticFiles(folders: readonly string[]): () => Files {
  let loaded: Files | undefined;
  return () => {
    if (loaded !== undefined) return loaded;
    const folder = folders.find((candidate) => existsSync(join(candidate, BUILT)));
    if (folder === undefined) return new Map();
    loaded = loadFiles(folder);
    return loaded;
  };
}
