import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { selfSigned } from '../../test/support/harness/certificates.ts';

/** A certificate for this machine that this process trusts, as a bare handler and as a control plane take it. */
export function secured(): {
  readonly tls: { readonly cert: string; readonly key: string };
  readonly args: readonly string[];
  readonly remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const tls = selfSigned(['IP:127.0.0.1']);
  const cert = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  writeFileSync(cert, tls.cert);
  writeFileSync(key, tls.key, { mode: 0o600 });
  setDefaultCACertificates([...getCACertificates(), tls.cert]);
  return {
    tls,
    args: ['--tls-cert', cert, '--tls-key', key],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
