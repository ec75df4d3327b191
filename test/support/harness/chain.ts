import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

function openssl(args: readonly string[], ...more: readonly string[]): void {
  execFileSync('openssl', [...args, ...more], { stdio: ['ignore', 'ignore', 'pipe'] });
}

const SERVER = 'subjectAltName=DNS:localhost,IP:127.0.0.1\n';
const AUTHORITY = 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n';

/** Certificates in one folder, each by a name: `<name>.crt` and `<name>.key`. */
export class Chain {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  file(name: string): string {
    return join(this.#folder, name);
  }

  read(name: string): string {
    return readFileSync(this.file(`${name}.crt`), 'utf8');
  }

  key(name: string): void {
    const curve = ['-pkeyopt', 'ec_paramgen_curve:P-256'];
    openssl(['genpkey', '-algorithm', 'EC', ...curve], '-out', this.file(`${name}.key`));
  }

  /** Signed by itself; with the key that is there already if `keepsKey`. */
  selfSigned(name: string, isAuthority: boolean, keepsKey = false): void {
    if (!keepsKey) this.key(name);
    const extension = isAuthority ? 'basicConstraints=critical,CA:TRUE' : 'subjectAltName=IP:127.0.0.1';
    const files = ['-key', this.file(`${name}.key`), '-out', this.file(`${name}.crt`)];
    openssl(['req', '-x509', '-new', ...files], '-days', '2', '-subj', `/CN=${name}`, '-addext', extension);
  }

  signed(name: string, by: string, isAuthority: boolean): void {
    this.key(name);
    const request = ['-key', this.file(`${name}.key`), '-out', this.file('csr')];
    openssl(['req', '-new', ...request], '-subj', `/CN=${name}`);
    writeFileSync(this.file('ext'), isAuthority ? AUTHORITY : SERVER);
    const files = ['-in', this.file('csr'), '-out', this.file(`${name}.crt`), '-days', '2'];
    const signer = ['-CA', this.file(`${by}.crt`), '-CAkey', this.file(`${by}.key`), '-CAcreateserial'];
    openssl(['x509', '-req', ...files, ...signer], '-extfile', this.file('ext'));
  }

  /** What the control plane shows from now on: `tls.crt` and `tls.key`. */
  show(name: string, ...above: readonly string[]): void {
    copyFileSync(this.file(`${name}.key`), this.file('new.key'));
    writeFileSync(this.file('new.crt'), [name, ...above].map((one) => this.read(one)).join(''));
    renameSync(this.file('new.key'), this.file('tls.key'));
    renameSync(this.file('new.crt'), this.file('tls.crt'));
  }
}
