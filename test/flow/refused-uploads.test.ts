import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selfSigned } from '../support/harness/certificates.ts';
import { BOOTSTRAP, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';

const LENGTH = 4 * 2 ** 20;
const PIECE = Buffer.alloc(65_536, 'a');
/** Longer than a reset takes to come, far shorter than what is dropped. */
const HEARD_MS = 200;

let dir: string;
let tls: readonly string[];
let plane: ControlPlane;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'berth-uploads-'));
  const { cert, key } = selfSigned(['IP:127.0.0.1']);
  writeFileSync(join(dir, 'cert.pem'), cert);
  writeFileSync(join(dir, 'key.pem'), key);
  tls = ['--tls-cert', join(dir, 'cert.pem'), '--tls-key', join(dir, 'key.pem')];
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Upload {
  readonly socket: Socket;
  readonly errors: Error[];
  readonly text: () => string;
}

/** A client that goes on sending, whatever it hears. */
async function upload(token: string): Promise<Upload> {
  const { hostname: host, port, protocol } = new URL(plane.url);
  const to = { host, port: Number(port), allowHalfOpen: true };
  const isSecure = protocol === 'https:';
  const socket = isSecure ? connectSecurely({ ...to, rejectUnauthorized: false }) : connect(to);
  const errors: Error[] = [];
  let text = '';
  socket.on('error', (error) => errors.push(error));
  socket.on('data', (piece: Buffer) => (text += piece.toString()));
  await once(socket, isSecure ? 'secureConnect' : 'connect');
  socket.write(
    `POST /api/v1/deployments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${LENGTH}\r\n\r\n`,
  );
  socket.write(PIECE);
  return { socket, errors, text: () => text };
}

describe.each([
  ['in the clear', () => []],
  ['with TLS', () => [...tls, '--tls-threads', '0']],
  ['with TLS on threads', () => [...tls, '--tls-threads', '2']],
])('a body that is refused while it is sent, %s', (_how, flags) => {
  beforeAll(async () => {
    plane = await startControlPlane(flags());
  });
  afterAll(() => plane.close());

  /** As far as the answer, and some more. */
  async function refused(token: string): Promise<Upload> {
    const sent = await upload(token);
    await once(sent.socket, 'end');
    for (let piece = 0; piece < 3; piece += 1) {
      sent.socket.write(PIECE);
      await delay(HEARD_MS);
    }
    expect([sent.errors, sent.socket.destroyed]).toEqual([[], false]);
    return sent;
  }

  it('may be sent on until the client has read why, and not for ever', async () => {
    const { socket, text } = await refused(BOOTSTRAP);
    expect(text()).toMatch(/^HTTP\/1\.1 413 [^]*"code":"body_too_large"/);
    const sending = setInterval(() => socket.write(PIECE), HEARD_MS);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(sending);
  });

  it('may be so by a stranger, too', async () => {
    const { socket, text } = await refused('nobody');
    expect(text()).toMatch(/^HTTP\/1\.1 401 [^]*"code":"unauthenticated"/);
    socket.destroy();
  });
});
