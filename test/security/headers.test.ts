import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { rawExchange } from '../support/harness/raw-exchange.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/server-under-test.ts';

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.close());

attack('anybody', 'an Accept-Encoding header of 15,500 spaces', async () => {
  const header = `a${' '.repeat(15_500)}b`;
  const used = process.cpuUsage();
  for (let count = 0; count < 8; count += 1) {
    const answer = await plane.api.send('GET', '/', { token: null, headers: { 'accept-encoding': header } });
    expect(answer.status).toBe(200);
  }
  // Processor time, not the clock's: a header that is split in quadratic time costs a second for each of them.
  const { user, system } = process.cpuUsage(used);
  expect((user + system) / 1e6).toBeLessThan(2);
});

attack('anybody', 'paths of the documentation that lead out of it', async () => {
  const served = await rawExchange(
    plane.url,
    'GET /docs/style.css HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    {
      untilClosed: true,
    },
  );
  expect(served.status).toBe(200);
  for (const path of [
    '/docs/../package.json',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/docs//etc/passwd',
    '/docs/guide/../../built.json',
    '/docs/built.json',
    '/docs/constructor',
    '/docs/guide/first-deployment.html/x',
    `/docs/${'a/'.repeat(2000)}`,
  ]) {
    const { status } = await rawExchange(
      plane.url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      { untilClosed: true },
    );
    expect([path, status]).toEqual([path, 404]);
  }
});

attack('anybody', 'headers beyond 16 KiB', async () => {
  const answer = await rawExchange(
    plane.url,
    `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(17 * 1024)}\r\n\r\n`,
    { untilClosed: true },
  );
  expect([answer.status, answer.body['code'], answer.closed]).toEqual([400, 'header_invalid', true]);
});
