import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { readCells } from '../../../src/cli/cells/cells-file.ts';
import { haproxyConfig } from '../../../src/cli/cells/haproxy.ts';
import { ensurePackages } from './packages.ts';
import { Program } from './program.ts';

export type CellServers = Readonly<Record<string, readonly string[]>>;

const READY_MS = 20_000;

/** HAProxy in front of cells, with the configuration that the command line makes. */
export class Router {
  readonly url: string;
  readonly statusUrl: string;
  readonly #dir = mkdtempSync(join(tmpdir(), 'berth-router-'));
  readonly #more: object;
  #program: Program | undefined;

  private constructor(port: number, statusPort: number, more: object) {
    this.url = `http://127.0.0.1:${port}`;
    this.statusUrl = `http://127.0.0.1:${statusPort}`;
    this.#more = more;
  }

  static async start(cells: CellServers, more: object = {}): Promise<Router> {
    ensurePackages(['haproxy']);
    const router = new Router(await freePort(), await freePort(), more);
    router.#write(cells);
    const program = new Program(['/usr/sbin/haproxy', '-W', '-db', '-f', router.#file], process.env);
    router.#program = program;
    await program.until('the router', READY_MS, async () => {
      const answer = await fetch(`${router.statusUrl}/healthz`).catch(() => undefined);
      return answer?.ok === true || undefined;
    });
    return router;
  }

  /** Of the master; what carries requests are its children. */
  get pid(): number {
    return this.#program?.pid ?? 0;
  }

  get said(): string {
    return this.#program?.said ?? '';
  }

  /** As `systemctl reload haproxy`. */
  reload(cells: CellServers): void {
    this.#write(cells);
    this.#program?.kill('SIGUSR2');
  }

  async stop(): Promise<void> {
    await this.#program?.end('SIGTERM');
    rmSync(this.#dir, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#dir, 'haproxy.cfg');
  }

  #write(cells: CellServers): void {
    const described = {
      listen: new URL(this.url).host,
      baseUrl: this.url,
      status: new URL(this.statusUrl).host,
      ...this.#more,
      cells: Object.entries(cells).map(([name, servers]) => ({ name, servers })),
    };
    writeFileSync(this.#file, haproxyConfig(readCells(described)));
  }
}
