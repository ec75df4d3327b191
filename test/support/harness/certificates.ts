import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from './packages.ts';

export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A self-signed certificate for a day, unless told otherwise; `names` are subject alternative names such as `DNS:a.example` or `IP:127.0.0.1`. */
export function selfSigned(names: readonly string[], days = 1): TestCertificate {
  ensurePackages(['openssl']);
  const folder = mkdtempSync(join(tmpdir(), 'berth-certificate-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  try {
    const fixed = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days ${days} -subj /CN=berth-test`;
    const chosen = ['-addext', `subjectAltName=${names.join(',')}`, '-keyout', key, '-out', cert];
    execFileSync('openssl', [...fixed.split(' '), ...chosen], { stdio: ['ignore', 'ignore', 'pipe'] });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
