import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDashboard } from './dashboard.ts';

const SCRIPT = 'export const answer = 42;';

let folder: string;
let app: FastifyInstance;

/** As the build leaves it. */
function build(): void {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Berth</title>');
  writeFileSync(join(folder, 'assets/index-abc.js'), SCRIPT);
  writeFileSync(join(folder, 'assets/index-abc.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(folder, 'built.json'), '{}');
}

const get = (url: string, headers: Readonly<Record<string, string>> = {}) => app.inject({ url, headers });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-dashboard-'));
  app = fastify();
  const dashboard = createDashboard([folder]);
  app.setNotFoundHandler(
    (request, reply) => dashboard.page(request, reply) ?? reply.code(404).send('route_not_found'),
  );
  dashboard.addPaths(app);
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

describe('without a build', () => {
  it('says how to make one', async () => {
    const answer = await get('/');
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([503, 'no-store']);
    expect(answer.body).toContain('npm run dashboard');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  });

  it('is found as soon as it is there, but not half of it', async () => {
    build();
    rmSync(join(folder, 'built.json'));
    expect((await get('/')).statusCode).toBe(503);
    writeFileSync(join(folder, 'built.json'), '{}');
    expect((await get('/')).statusCode).toBe(200);
  });
});

describe('with a build', () => {
  beforeEach(build);

  it.each([
    ['gzip, deflate, br', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip;q=0.5', 'gzip'],
    ['identity', undefined],
  ])('a browser that takes %s gets %s', async (accepted, encoding) => {
    const answer = await get('/assets/index-abc.js', { 'accept-encoding': accepted });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(answer.rawPayload).toEqual(encoding === undefined ? Buffer.from(SCRIPT) : gzipSync(SCRIPT));
  });

  it('what has a digest in its name is kept, the page is asked for again', async () => {
    expect((await get('/assets/index-abc.js')).headers['cache-control']).toContain('immutable');
    const page = await get('/');
    expect(page.headers['cache-control']).toBe('no-cache');
    const again = await get('/', { 'if-none-match': String(page.headers.etag) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });

  it.each([
    ['/deployments/web', 'text/html', 200],
    ['/deployments/web', 'application/json', 404],
    ['/api/v1/nothing', 'text/html', 404],
    ['/docs/nothing', 'text/html', 404],
    ['/assets/gone.js', 'text/html', 404],
    ['/assets/../built.json', 'text/html', 404],
    ['/assets/%2e%2e/built.json', 'text/html', 404],
    ['/built.json', 'text/html', 404],
  ])('%s for a reader of %s is %i', async (url, accept, status) =>
    expect((await get(url, { accept })).statusCode).toBe(status),
  );
});
