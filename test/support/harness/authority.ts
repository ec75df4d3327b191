import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface TestCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function newKey(file: string): readonly string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file];
}

/** A throw-away authority and a certificate of it for 127.0.0.1 and localhost, made in `folder`. */
export async function makeCertificate(folder: string): Promise<TestCertificate> {
  const file = (name: string): string => join(folder, name);
  openssl(
    'req',
    '-x509',
    ...newKey(file('ca.key')),
    '-out',
    file('ca.crt'),
    '-days',
    '2',
    '-subj',
    '/CN=berth test authority',
  );
  await signCertificate(folder, 'server');
  return {
    certFile: file('server.crt'),
    keyFile: file('server.key'),
    caFile: file('ca.crt'),
    ca: await readFile(file('ca.crt')),
    cert: await readFile(file('server.crt')),
    key: await readFile(file('server.key')),
  };
}

/** Another certificate of the authority in `folder`: `<name>.crt` and `<name>.key`, or those renewed. */
export async function signCertificate(folder: string, name: string): Promise<void> {
  const file = (one: string): string => join(folder, one);
  openssl('req', ...newKey(file(`${name}.key`)), '-out', file(`${name}.csr`), '-subj', '/CN=localhost');
  await writeFile(file('san'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const authority = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial'];
  const chosen = ['-days', '2', '-extfile', file('san')];
  openssl('x509', '-req', '-in', file(`${name}.csr`), '-out', file(`${name}.crt`), ...authority, ...chosen);
}
