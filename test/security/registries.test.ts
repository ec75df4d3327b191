import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { loadConfig } from '../../src/server/config.ts';
import { createDialer } from '../../src/server/registry/dialer.ts';
import { trustedRealm } from '../../src/server/registry/challenge.ts';
import { attack } from '../support/attack.ts';

attack('deployer', 'images whose registry is a port of the control plane’s own machine', async () => {
  let connections = 0;
  const service = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  service.on('connection', () => {
    connections += 1;
  });
  await once(service, 'listening');
  const { port } = service.address() as AddressInfo;
  const dialer = createDialer({ allowPrivate: loadConfig([], {}).registries.allowPrivate });
  try {
    for (const host of ['127.0.0.1', 'localhost', '127.1'])
      for (const protocol of ['http', 'https']) {
        const url = new URL(`${protocol}://${host}:${port}/v2/`);
        expect(await dialer.request(url, { key: 'shop', timeoutMs: 5000 })).toMatchObject({ ok: false });
      }
    expect(connections).toBe(0);
    const listed = createDialer({ allowPrivate: [`127.0.0.1:${port}`] });
    const url = new URL(`http://127.0.0.1:${port}/v2/`);
    expect(await listed.request(url, { key: 'shop', timeoutMs: 5000 })).toMatchObject({ ok: true });
    listed.close();
  } finally {
    dialer.close();
    service.close();
  }
});

attack('a registry', 'an auth realm at a neighbour under a shared suffix', () => {
  const realm = (registry: string, text: string) => trustedRealm(text, new URL(registry))?.href;
  expect(realm('https://a.onrender.com', 'https://b.onrender.com/token')).toBeUndefined();
  expect(realm('https://registry.a.co.uk', 'https://auth.b.co.uk/token')).toBeUndefined();
  expect(realm('https://registry.acme.co.uk', 'https://auth.acme.co.uk/token')).toBe(
    'https://auth.acme.co.uk/token',
  );
});
