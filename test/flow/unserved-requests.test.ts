import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selfSigned } from '../support/harness/certificates.ts';
import { BOOTSTRAP, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { type RawAnswer, rawExchange } from '../support/harness/raw-exchange.ts';

/** What no route gets, because HTTP is over before: a record all the same, whose link leads to this server. */
describe.each([
  ['over HTTP', 'none'],
  ['over TLS', '0'],
  ['over TLS of threads', '1'],
])('a request that no route gets, %s', (_how, threads) => {
  const dir = mkdtempSync(join(tmpdir(), 'berth-unserved-'));
  let plane: ControlPlane;
  let late: Promise<RawAnswer>;

  const ask = (text: string) => rawExchange(plane.url, text, { untilClosed: true });

  beforeAll(async () => {
    const { cert, key } = selfSigned(['IP:127.0.0.1']);
    writeFileSync(join(dir, 'cert.pem'), cert);
    writeFileSync(join(dir, 'key.pem'), key);
    const tls = ['--tls-cert', join(dir, 'cert.pem'), '--tls-key', join(dir, 'key.pem')];
    plane = await startControlPlane(threads === 'none' ? [] : [...tls, '--tls-threads', threads]);
    // As long as it takes; the others go on beside it.
    late = rawExchange(plane.url, 'GET /api/v1/deployments HTTP/1.1\r\nHost: a\r\n', {
      limitMs: 20_000,
      untilClosed: true,
    });
  });
  afterAll(async () => {
    await plane.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const fetchedHealth = () => ask('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');

  function expectRecord({ text, status, body, closed }: RawAnswer, expected: object): void {
    expect({ status, ...body }, text).toMatchObject({
      ...expected,
      doc: `${plane.url}/docs/errors/${String(body['code'])}`,
    });
    expect([/x-request-id: \S+/i.test(text), closed]).toEqual([true, true]);
  }

  it.each([
    ['no HTTP', 'HELO berth\r\n\r\n'],
    ['headers beyond 16 KiB', `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(17_000)}\r\n\r\n`],
  ])('is refused as headers: %s', async (_what, text) => {
    expectRecord(await ask(text), { status: 400, code: 'header_invalid', field: 'headers' });
  });

  it('has its link without a Host as well', async () => {
    const answer = await ask('GET /api/v1/nothing HTTP/1.1\r\nConnection: close\r\n\r\n');
    expectRecord(answer, { status: 404, code: 'route_not_found' });
  });

  it('is refused for what it expects, and served where that is nothing but to go on', async () => {
    for (const method of ['GET', 'POST']) {
      const answer = await ask(
        `${method} /api/v1/deployments HTTP/1.1\r\nHost: ${new URL(plane.url).host}\r\nExpect: foo\r\nContent-Length: 2\r\n\r\n{}`,
      );
      expectRecord(answer, { status: 400, code: 'header_invalid', field: 'Expect', received: 'foo' });
    }
    const served = await ask(
      `GET /api/v1/deployments HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${BOOTSTRAP}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
    );
    expect(served.text).toContain('HTTP/1.1 200');
  });

  it('is refused as a method that there is not, and what it says next is not read', async () => {
    const host = new URL(plane.url).host;
    const answer = await ask(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\nGET / HTTP/1.1\r\n\r\n`);
    expectRecord(answer, { status: 405, code: 'method_not_allowed', field: 'method', received: 'CONNECT' });
    expect(/^allow: .*GET.*$/im.test(answer.text)).toBe(true);
    // Its Host is where it wants to go.
    const away = await ask('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    expectRecord(away, { status: 405, code: 'method_not_allowed' });
  });

  it('ends its connection, and nothing else, behind one that is not answered yet', async () => {
    const host = new URL(plane.url).host;
    const before = `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    for (const next of [
      `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `GET /api/v1/deployments/x/exec HTTP/1.1\r\nHost: ${host}\r\n${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    ])
      await ask(before + next);
    expect((await fetchedHealth()).status).toBe(200);
  });

  it('is refused when its headers do not come to an end', { timeout: 20_000 }, async () => {
    const answer = await late;
    expectRecord(answer, {
      status: 400,
      code: 'header_invalid',
      field: 'headers',
      expected: 'complete headers within 10 s',
    });
  });
});
