import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { startControlPlane } from '../support/harness/server-under-test.ts';

attack(
  'deployer',
  'webhooks to private, link-local and metadata addresses, by name, number and redirect',
  async () => {
    let inside = 0;
    const service = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    service.on('connection', () => (inside += 1));
    const receiver = createServer((request, response) => {
      request.resume();
      response
        .writeHead(307, { location: `http://127.0.0.1:${(service.address() as AddressInfo).port}/` })
        .end();
    }).listen(0, '127.0.0.1');
    await Promise.all([once(service, 'listening'), once(receiver, 'listening')]);
    const { port } = service.address() as AddressInfo;
    const allowed = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const plane = await startControlPlane({ config: { 'webhooks.allowPrivate': [allowed] } });
    try {
      const { tokens } = await plane.tenant('shop');
      const signing = { vault_path: 'resources/hooks' };
      const create = (name: string, url: string) =>
        plane.api.post('/api/v1/webhooks', { name, url, signing }, { token: tokens.deployer });
      const numbers = [
        `127.0.0.1:${port}`,
        `127.1:${port}`,
        `2130706433:${port}`,
        `[::1]:${port}`,
        `[::ffff:127.0.0.1]:${port}`,
        '10.0.0.1',
        '192.168.1.1',
        '169.254.169.254',
        '[fd00:ec2::254]',
      ];
      for (const host of numbers)
        for (const scheme of ['http', 'https'])
          expect((await create('a', `${scheme}://${host}/`)).body['code'], host).toBe('webhook_invalid');
      await plane.api.put(
        '/api/v1/secrets/resources/hooks',
        { values: { key: 'k' } },
        { token: tokens['tenant-admin'] },
      );
      const reason = async (name: string, url: string) => {
        expect((await create(name, url)).status).toBe(201);
        const read = () => plane.api.get(`/api/v1/webhooks/${name}`, { token: tokens.viewer });
        const { body } = await eventually(read, (answer) =>
          JSON.stringify(answer.body).includes('lastFailure'),
        );
        return JSON.stringify(body['status']);
      };
      expect(await reason('by-name', `https://localhost:${port}/`)).toContain('may call');
      expect(await reason('by-redirect', `${allowed}/`)).toContain('redirects are not followed');
      expect(inside).toBe(0);
    } finally {
      await plane.close();
      service.close();
      receiver.closeAllConnections();
      receiver.close();
    }
  },
);
