import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selfSigned } from '../../../test/support/harness/certificates.ts';
import type { ControlPlaneRecord } from '../store/records.ts';
import { askPeer } from './peer-dial.ts';

function digestOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
}

const own = selfSigned(['IP:127.0.0.1']);
const heard: string[] = [];
let secure: Server;
let plain: Server;
const servers: { close: () => unknown }[] = [];

async function listening(server: Server): Promise<Server> {
  server.on('request', (request, response) => {
    heard.push(`${request.method} ${request.url}`);
    response.end('answer');
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

beforeAll(async () => {
  secure = await listening(createHttpsServer(own));
  plain = await listening(createHttpServer());
});

afterAll(() => {
  for (const server of servers) server.close();
});

function peer(scheme: 'http' | 'https', server: Server, certificate?: string): ControlPlaneRecord {
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    nodeName: 'm',
    startedAt: '',
    version: '0',
    url,
    agentUrl: url,
    ...(certificate && { certificate }),
  };
}

async function ask(record: ControlPlaneRecord, signal = AbortSignal.timeout(5000)): Promise<string> {
  const answer = await askPeer(record, { path: '/p', proof: 'the proof', body: '{}', signal });
  let text = '';
  for await (const piece of answer) text += String(piece);
  return text;
}

describe('asking another control plane', () => {
  it('speaks to the one whose certificate is written down', async () => {
    expect(await ask(peer('https', secure, digestOf(own.cert)))).toBe('answer');
    expect(await ask(peer('http', plain))).toBe('answer');
    expect(heard).toEqual(['POST /p', 'POST /p']);
  });

  it('says nothing to one that shows another, or none where one is written down', async () => {
    heard.length = 0;
    const other = digestOf(selfSigned(['IP:127.0.0.1']).cert);
    await expect(ask(peer('https', secure, other))).rejects.toThrow('another certificate');
    await expect(ask(peer('https', secure))).rejects.toThrow('another certificate');
    await expect(ask(peer('http', plain, digestOf(own.cert)))).rejects.toThrow('another certificate');
    expect(heard).toEqual([]);
  });

  it('ends when the asker leaves, also while a connection is being made that nobody answers', async () => {
    const taken: Socket[] = [];
    const mute = createServer((socket) => void taken.push(socket.on('error', () => undefined)));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const begun = performance.now();
    const { port } = mute.address() as AddressInfo;
    const record = { ...peer('https', secure, digestOf(own.cert)), url: `https://127.0.0.1:${port}` };
    await expect(ask(record, AbortSignal.timeout(200))).rejects.toThrow();
    expect(performance.now() - begun).toBeLessThan(2500);
    for (const socket of taken) socket.destroy();
    mute.close();
  });
});
