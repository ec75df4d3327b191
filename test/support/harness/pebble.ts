import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { selfSigned } from './certificates.ts';
import { ensurePackages } from './packages.ts';

export interface PebbleOptions {
  /** How its processes are started where nodes reach them. */
  readonly inside: (argv: readonly string[]) => readonly [command: string, args: readonly string[]];
  /** Its own, and that of every host that it checks. */
  readonly address: string;
  readonly hostsAt: string;
  readonly validitySeconds: number;
}

const LIMIT = join(import.meta.dirname, '../agents/acme-limit.ts');

/** An authority that speaks ACME as the public ones do, with a name server that sends it to the nodes of the test. */
export class Pebble {
  readonly directory: string;
  /** What its own connection is checked against. */
  readonly caPem: string;
  readonly #management: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-pebble-'));
  readonly #children: readonly ChildProcess[];
  readonly #inside: PebbleOptions['inside'];

  constructor({ inside, address, hostsAt, validitySeconds }: PebbleOptions) {
    ensurePackages(['pebble']);
    this.#inside = inside;
    this.directory = `https://${address}:14001/dir`;
    this.#management = `https://${address}:15000`;
    const { cert, key } = selfSigned([`IP:${address}`]);
    this.caPem = cert;
    const [certificate, privateKey, config] = ['cert.pem', 'key.pem', 'config.json'].map((name) =>
      join(this.#folder, name),
    );
    if (certificate === undefined || privateKey === undefined || config === undefined)
      throw new Error('no folder');
    writeFileSync(certificate, cert);
    writeFileSync(privateKey, key);
    const pebble = {
      listenAddress: `${address}:14000`,
      managementListenAddress: `${address}:15000`,
      certificate,
      privateKey,
      httpPort: 80,
      tlsPort: 443,
      ocspResponderURL: '',
      certificateValidityPeriod: validitySeconds,
    };
    writeFileSync(config, JSON.stringify({ pebble }));
    const off = ['-http01', '', '-https01', '', '-tlsalpn01', ''];
    const names = [
      '-defaultIPv4',
      hostsAt,
      '-defaultIPv6',
      '',
      '-dns01',
      `${address}:8053`,
      '-management',
      `${address}:8055`,
    ];
    // It refuses good nonces now and then, as busy ones do: seldom, because Caddy gives up after three in a row, and tries again after a minute.
    this.#children = [
      ['pebble', '-config', config, '-dnsserver', `${address}:8053`],
      ['pebble-challtestsrv', ...off, ...names],
      [process.execPath, LIMIT, `${address}:14001`, `${address}:14000`, certificate, privateKey],
    ].map((argv) => {
      const [command, args] = inside(argv);
      return spawn(command, args, {
        stdio: 'ignore',
        env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '5' },
      });
    });
  }

  async ready(): Promise<void> {
    await eventually(
      'the authority answers',
      () => this.#ask(this.directory),
      (text) => text.includes('newOrder'),
    );
  }

  /** What everything that it issues leads to. */
  root(): Promise<string> {
    return this.#ask(`${this.#management}/roots/0`);
  }

  /** What it signs with, and shows with every certificate. */
  intermediate(): Promise<string> {
    return this.#ask(`${this.#management}/intermediates/0`);
  }

  /** `Valid` or `Revoked`. */
  async statusOf(certificate: string): Promise<string> {
    const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
    const text = await this.#ask(`${this.#management}/cert-status-by-serial/${serial}`);
    return String((JSON.parse(text) as { readonly Status?: string }).Status);
  }

  /** The host is elsewhere for it. */
  async pointTo(host: string, address: string): Promise<void> {
    const body = JSON.stringify({ host, addresses: [address] });
    await this.#ask(`http://${new URL(this.directory).hostname}:8055/add-a`, '-d', body);
  }

  /** The next orders for the host are refused: too many. */
  async refuse(orders: number, host: string): Promise<void> {
    await this.#ask(new URL(`/refuse/${orders}/${host}`, this.directory).href, '-XPOST');
  }

  async refused(): Promise<number> {
    return Number(await this.#ask(new URL('/refused', this.directory).href));
  }

  #ask(url: string, ...flags: readonly string[]): Promise<string> {
    const [command, args] = this.#inside(['curl', '-sk', ...flags, url]);
    return new Promise((resolve) => execFile(command, args, (_error, stdout) => resolve(stdout)));
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** As browsers name a key that they are told to trust. */
export function spkiPin(certificate: string): string {
  const der = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('base64');
}
