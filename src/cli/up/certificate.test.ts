import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { selfSigned } from './certificate.ts';

const NAMES = [
  'localhost',
  'berlin-1',
  '127.0.0.1',
  '192.168.7.12',
  '::1',
  'fe80::1:2',
  '2001:db8:0:1:2:3:4:5',
];

describe('a certificate of its own', () => {
  const { key, cert } = selfSigned(NAMES, new Date());

  it('is signed by itself, for every name', () => {
    const read = new X509Certificate(cert);
    expect(read.verify(read.publicKey)).toBe(true);
    expect(read.ca).toBe(true);
    expect(read.checkHost('berlin-1')).toBe('berlin-1');
    for (const address of NAMES.slice(2)) expect(read.checkIP(address), address).toBe(address);
    expect(read.checkIP('192.168.7.13')).toBeUndefined();
  });

  it('has times that are read as they are meant, also after 2049', () => {
    const at = (year: number) =>
      new X509Certificate(selfSigned(['a'], new Date(`${year}-03-01T00:00:00Z`)).cert);
    expect(new Date(at(2026).validFrom).toISOString()).toBe('2026-02-28T00:00:00.000Z');
    expect(new Date(at(2026).validTo).toISOString()).toBe('2036-02-27T00:00:00.000Z');
    expect(new Date(at(2045).validTo).toISOString()).toBe('2055-02-27T00:00:00.000Z');
  });

  it('is trusted where it is the authority, and nowhere else', async () => {
    const server = createServer({ key, cert }, (_request, answer) => answer.end('yes')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = (ca?: string): Promise<number> =>
      new Promise((resolve, reject) => {
        request({ host: '127.0.0.1', port, ...(ca && { ca }) }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    try {
      expect(await ask(cert)).toBe(200);
      await expect(ask()).rejects.toThrow(/self-signed/);
    } finally {
      server.close();
    }
  });
});
