import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chain } from '../../../test/support/harness/chain.ts';
import { TlsAnchors } from './tls-anchors.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-anchors-'));
const chain = new Chain(folder);
const log = pino({ level: 'silent' });
const readFile = (path: string): string => readFileSync(path, 'utf8');
const file = (name: string): string => chain.file(`${name}.crt`);

function anchors(files: { cert?: string; next?: string; front?: string }, isCell = false): TlsAnchors {
  return new TlsAnchors(files, isCell, readFile, log);
}

function digestOf(name: string): string {
  return `sha256:${createHash('sha256')
    .update(new X509Certificate(chain.read(name)).raw)
    .digest('hex')}`;
}

function keyOf(name: string): string {
  return new X509Certificate(chain.read(name)).publicKey
    .export({ type: 'spki', format: 'der' })
    .toString('base64');
}

beforeAll(() => {
  for (const name of ['own', 'router', 'renewed']) chain.selfSigned(name, false);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('by what agents know a control plane', () => {
  it('is its own certificate, unless something in front of it shows another', () => {
    const own = anchors({ cert: file('own') });
    expect([own.digest, own.keys]).toEqual([digestOf('own'), [keyOf('own')]]);
    const behind = anchors({ cert: file('own'), front: file('router') });
    expect([behind.digest, behind.keys]).toEqual([digestOf('router'), [keyOf('router'), keyOf('own')]]);
    const plain = anchors({ front: file('router') });
    expect([plain.digest, plain.keys]).toEqual([digestOf('router'), [keyOf('router')]]);
  });

  it('is nothing that a cell could tell by itself: its agents see the router', () => {
    const cell = anchors({ cert: file('own') }, true);
    expect([cell.digest, cell.keys]).toEqual([undefined, [keyOf('own')]]);
    expect(anchors({ cert: file('own'), front: file('router') }, true).digest).toBe(digestOf('router'));
  });

  it('follows what is in front, and keeps what it knew when that cannot be read', () => {
    const front = chain.file('front.pem');
    writeFileSync(front, chain.read('router'));
    const behind = anchors({ cert: file('own'), front });
    // As HAProxy wants it, with its key.
    writeFileSync(front, chain.read('renewed') + readFile(chain.file('renewed.key')));
    expect(behind.read()).toBe(true);
    expect([behind.digest, behind.keys]).toEqual([digestOf('renewed'), [keyOf('renewed'), keyOf('own')]]);
    for (const spoil of [() => writeFileSync(front, ''), () => rmSync(front)]) {
      spoil();
      expect(behind.read()).toBe(false);
      expect([behind.digest, behind.keys[0]]).toEqual([digestOf('renewed'), keyOf('renewed')]);
    }
  });

  it('is refused at the start when it is no certificate', () => {
    const front = chain.file('nothing.pem');
    expect(() => anchors({ front })).toThrow(/baseUrlCertificate .*nothing\.pem cannot be used: ENOENT/);
    writeFileSync(front, 'no certificate');
    expect(() => anchors({ front })).toThrow('nothing.pem holds no certificate');
  });
});
