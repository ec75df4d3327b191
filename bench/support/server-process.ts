import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const BENCH_TOKEN = 'bench-token-0123456789-0123456789-abcdef';

const STOP_MS = 20_000;

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }>;
  stop(): Promise<void>;
  /** Without any warning; resolves when it is gone. */
  kill(): Promise<void>;
}

export interface ServerOptions {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Data of its own that outlives it; absent: a temporary folder. */
  readonly dir?: string;
  /** Host and port; absent: any port. */
  readonly listen?: string;
}

/** The control plane as a process of its own, with no rate limit or quota that matters; resolves when it says that it is ready. */
export async function startServerProcess(options: ServerOptions = {}): Promise<ServerProcess> {
  const { args = [], environment = {} } = options;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const child = spawn(
    join(import.meta.dirname, '../../bin/berth'),
    ['server', '--data-dir', dir, '--listen', options.listen ?? '127.0.0.1:0', ...args],
    {
      env: {
        ...process.env,
        BERTH_BOOTSTRAP_TOKEN: BENCH_TOKEN,
        BERTH_RATE_LIMIT_PER_SECOND: '1000000',
        BERTH_RATE_LIMIT_BURST: '1000000',
        // What a tenant may store is no part of what is measured: a fast machine makes more than its 20,000 deployments in some seconds.
        BERTH_QUOTAS_RECORDS: JSON.stringify({
          deployments: 10_000_000,
          archives: 100_000_000,
          nodes: 1_000_000,
        }),
        BERTH_QUOTAS_BYTES: JSON.stringify({ deployments: 2 ** 40, archives: 2 ** 40, nodes: 2 ** 40 }),
        // Registries of benchmarks listen on free ports.
        BERTH_REGISTRIES_ALLOW_PRIVATE: '127.0.0.1:*,localhost:*',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const killOnExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killOnExit);
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (text.length < 10_000) text += chunk.toString();
      const found = /"url":"([^"]+)"/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
  return {
    url,
    pid: child.pid ?? 0,
    call: async (method, path, body) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    },
    kill: () =>
      new Promise((resolve) => {
        process.off('exit', killOnExit);
        child.removeAllListeners('exit');
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
    stop: () =>
      new Promise((resolve) => {
        process.off('exit', killOnExit);
        child.removeAllListeners('exit');
        if (child.signalCode !== null) return resolve();
        const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
        child.once('exit', () => {
          clearTimeout(kill);
          if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
          resolve();
        });
        child.kill('SIGTERM');
      }),
  };
}
