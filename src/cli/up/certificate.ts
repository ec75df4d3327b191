import { createHash, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Workspace } from './workspace.ts';

/** For a machine and its own agents, which know it by its digest and not by its dates. */
const DAYS = 3650;
const DAY_MS = 86_400_000;

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  const size = bytes.subarray(bytes.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content]);
}

const sequence = (...members: readonly Buffer[]): Buffer => der(0x30, ...members);
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (content: Buffer): Buffer => der(0x04, content);
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);

const COMMON_NAME = identifier('550403');
const ALTERNATIVE_NAMES = identifier('551d11');
const BASIC_CONSTRAINTS = identifier('551d13');
const ECDSA_SHA256 = identifier('2a8648ce3d040302');
const TRUE = der(0x01, Buffer.from([0xff]));

/** Up to 2049 with two digits of the year, as the standard wants it; later with four. */
function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]|\.\d{3}/g, '');
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = address.includes('::')
    ? [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)]
    : groups(address);
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Signed by itself: who has its digest knows it. Names are host names and addresses. */
export function selfSigned(
  names: readonly string[],
  now: Date,
): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(ECDSA_SHA256);
  const name = sequence(der(0x31, sequence(COMMON_NAME, utf8('Berth'))));
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const alternatives = names.map((one) =>
    isIP(one) === 0 ? der(0x82, Buffer.from(one)) : der(0x87, addressBytes(one)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name,
    sequence(time(new Date(now.getTime() - DAY_MS)), time(new Date(now.getTime() + DAYS * DAY_MS))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        sequence(BASIC_CONSTRAINTS, TRUE, octets(sequence(TRUE))),
        sequence(ALTERNATIVE_NAMES, octets(sequence(...alternatives))),
      ),
    ),
  );
  const whole = sequence(body, algorithm, bits(sign('sha256', body, privateKey)));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

export interface OwnCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** As agents are given it. */
  readonly digest: string;
}

/** Made once: agents that joined know it. */
export function ownCertificate({ folder }: Workspace, names: readonly string[]): OwnCertificate {
  const certFile = join(folder, 'tls.crt');
  const keyFile = join(folder, 'tls.key');
  if (!existsSync(certFile) || !existsSync(keyFile)) {
    const { key, cert } = selfSigned(names, new Date());
    writeFileSync(keyFile, key, { mode: 0o600 });
    writeFileSync(certFile, cert);
  }
  const { raw } = new X509Certificate(readFileSync(certFile));
  return { certFile, keyFile, digest: `sha256:${createHash('sha256').update(raw).digest('hex')}` };
}
