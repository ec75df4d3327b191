import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addDocs } from '../public.ts';
import { createDocsLibrary } from './library.ts';

const PAGE = '<!doctype html><title>First</title>';

let folder: string;
let app: FastifyInstance;

const get = (url: string, headers: Readonly<Record<string, string>> = {}) => app.inject({ url, headers });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-docs-'));
  app = fastify();
  addDocs(app, () => 'http://berth.example.com', createDocsLibrary([folder]));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

/** As the build leaves it. */
function build(): void {
  mkdirSync(join(folder, 'guide'));
  writeFileSync(join(folder, 'guide/first.html'), PAGE);
  writeFileSync(join(folder, 'guide/first.html.gz'), gzipSync(PAGE));
  writeFileSync(
    join(folder, 'pages.json'),
    JSON.stringify([{ group: 'Begin', path: 'guide/first', title: 'First', summary: 'Begin.' }]),
  );
  writeFileSync(join(folder, 'built.json'), '{}');
}

describe('what the build made', () => {
  it('is served as soon as it is there, whole', async () => {
    expect((await get('/docs/guide/first')).statusCode).toBe(404);
    expect((await get('/docs')).body).toContain('The guide is not built');
    build();
    const page = await get('/docs/guide/first');
    expect([page.statusCode, page.body]).toEqual([200, PAGE]);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
    expect((await get('/docs')).body).toContain('<a href="/docs/guide/first">First</a>');
  });

  it('is sent compressed, kept for a while, and not sent again', async () => {
    build();
    const page = await get('/docs/guide/first', { 'accept-encoding': 'gzip' });
    expect(gunzipSync(page.rawPayload).toString()).toBe(PAGE);
    expect(page.headers['cache-control']).toBe('public, max-age=300');
    const etag = String(page.headers['etag']);
    expect((await get('/docs/guide/first', { 'if-none-match': etag })).statusCode).toBe(304);
  });

  it('has the rendered pages with the same headers, and keeps no page that is not there', async () => {
    const page = await get('/docs/errors/name_required');
    expect([page.statusCode, page.headers['cache-control']]).toEqual([200, 'public, max-age=300']);
    const etag = String(page.headers['etag']);
    expect((await get('/docs/errors/name_required', { 'if-none-match': etag })).statusCode).toBe(304);
    const none = await get('/docs/none', { 'if-none-match': etag });
    expect([none.statusCode, none.headers['cache-control'], none.headers['etag']]).toEqual([
      404,
      'no-store',
      undefined,
    ]);
  });
});
