import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessCounts, requestIn } from './access-counts.ts';
import type { HttpRoute } from './route.ts';

const HOST = 'shop.example.com';

function route(deployment: string, path?: string): HttpRoute {
  const more = path === undefined ? {} : { path };
  return { deployment, protocol: 'http', host: HOST, address: '10.211.0.1', port: 80, tls: 'off', ...more };
}

const ROUTES = [route('web'), route('api', '/api')];

/** As Caddy 2.6 writes it, with what is not read left out. */
function line(uri: string, status = 200, host = HOST): string {
  const request = { remote_ip: '192.0.2.1', proto: 'HTTP/1.1', method: 'GET', host, uri, headers: {} };
  return `${JSON.stringify({ level: 'info', logger: 'http.log.access', msg: 'handled request', request, duration: 0.004, size: 3, status })}\n`;
}

let folder: string;
let file: string;
let counts: AccessCounts;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-access-'));
  file = join(folder, 'access.log');
  counts = new AccessCounts(file);
});
afterEach(async () => {
  await counts.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('requests through the ingress', () => {
  it('are counted by deployment and answer, each once', async () => {
    await counts.look(ROUTES);
    writeFileSync(file, line('/') + line('/api/v1?x=1', 404) + line('/apis', 302) + line('/api', 500));
    await counts.look(ROUTES);
    expect(counts.take()).toEqual([
      { deployment: 'web', answers: [0, 1, 1, 0, 0], milliseconds: 8 },
      { deployment: 'api', answers: [0, 0, 0, 1, 1], milliseconds: 8 },
    ]);
    await counts.look(ROUTES);
    expect(counts.take()).toEqual([]);
  });

  it('are not those that an earlier agent saw, nor those of hosts of nobody', async () => {
    writeFileSync(file, line('/'));
    await counts.look(ROUTES);
    appendFileSync(file, line('/', 404, 'other.example.com') + line('/', 200, `${HOST}:8443`));
    await counts.look(ROUTES);
    expect(counts.take()).toEqual([{ deployment: 'web', answers: [0, 1, 0, 0, 0], milliseconds: 4 }]);
  });

  it('are counted whole over lines that are half written and files that are put aside', async () => {
    await counts.look(ROUTES);
    const [begun, ended] = [line('/').slice(0, 40), line('/').slice(40)];
    writeFileSync(file, begun);
    await counts.look(ROUTES);
    appendFileSync(file, ended);
    await counts.look(ROUTES);
    appendFileSync(file, line('/', 201));
    renameSync(file, join(folder, 'access-1.log'));
    writeFileSync(file, line('/', 503));
    await counts.look(ROUTES);
    await counts.look(ROUTES);
    expect(counts.take()).toEqual([{ deployment: 'web', answers: [0, 2, 0, 0, 1], milliseconds: 12 }]);
  });

  it('are many in one look', async () => {
    await counts.look(ROUTES);
    writeFileSync(file, line('/').repeat(5_000));
    await counts.look(ROUTES);
    expect(counts.take()).toMatchObject([{ answers: [0, 5_000, 0, 0, 0] }]);
  });

  it.each(['', 'no json', '{}', line('/', 99), '{"request":{"host":"a","uri":"/"},"status":"200"}'])(
    'are not made of %j',
    (text) => expect(requestIn(text)).toBeUndefined(),
  );
});
