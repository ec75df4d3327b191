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

/** A throw-away authority and a certificate of it for 127.0.0.1 and localhost, made in `folder`. */
export async function makeCertificate(folder: string): Promise<TestCertificate> {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const key = (name: string): string[] => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    file(name),
  ];
  openssl(
    'req',
    '-x509',
    ...key('ca.key'),
    '-out',
    file('ca.crt'),
    '-days',
    '2',
    '-subj',
    '/CN=berth test authority',
  );
  openssl('req', ...key('server.key'), '-out', file('server.csr'), '-subj', '/CN=localhost');
  await writeFile(file('san'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signed = [
    '-CA',
    file('ca.crt'),
    '-CAkey',
    file('ca.key'),
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    file('san'),
  ];
  openssl('x509', '-req', '-in', file('server.csr'), '-out', file('server.crt'), ...signed);
  return {
    certFile: file('server.crt'),
    keyFile: file('server.key'),
    caFile: file('ca.crt'),
    ca: await readFile(file('ca.crt')),
    cert: await readFile(file('server.crt')),
    key: await readFile(file('server.key')),
  };
}
