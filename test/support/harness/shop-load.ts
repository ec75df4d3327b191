import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ClusterNode } from './cluster.ts';

export const LOAD = join(import.meta.dirname, '../shop/load.py');

/** One request of `load.py`, which says what each of these means. Times are those of the machine's clock. */
export interface Asked {
  readonly beganMs: number;
  readonly tookMs: number;
  readonly what: 'ok' | 'failed' | 'wrong' | 'missing';
  readonly host: string;
  /** The address of the instance that answered. */
  readonly by: string;
  readonly detail: string;
}

/** Clients of the shop: what they ask and what became of it. */
export class ShopLoad {
  readonly asked: Asked[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<unknown>;
  #said = '';

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, [...args]);
    this.#ended = once(this.#child, 'close');
    let rest = '';
    this.#child.stdout.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      this.asked.push(...lines.map(askedOf));
    });
    this.#child.stderr.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
  }

  /** In a container, by the engine of its node alone: no control plane is needed. */
  static inside({ engine }: ClusterNode, container: string, ...args: readonly string[]): ShopLoad {
    const words = ['exec', '-i', container, 'python3', '/shop/load.py', ...args];
    return new ShopLoad('docker', ['-H', `unix://${engine.socketPath}`, ...words]);
  }

  /** When it has made all its requests. */
  async done(): Promise<readonly Asked[]> {
    await this.#ended;
    if (this.#child.exitCode !== 0 || this.#said !== '')
      throw new Error(`the load ended with ${this.#child.exitCode}: ${this.#said.slice(-2000)}`);
    return this.asked;
  }

  /** No more of them; those under way are waited for. */
  stop(): Promise<readonly Asked[]> {
    this.#child.stdin.end();
    return this.done();
  }
}

function askedOf(line: string): Asked {
  const [began, took, what, host = '', by = '', ...detail] = line.split(' ');
  return {
    beganMs: Number(began) * 1000,
    tookMs: Number(took) * 1000,
    what: what as Asked['what'],
    host,
    by,
    detail: detail.join(' '),
  };
}

export function count(asked: readonly Asked[], what: Asked['what']): number {
  return asked.filter((one) => one.what === what).length;
}

/** Of those that were answered, in milliseconds. */
export function percentile(asked: readonly Asked[], share: number): number {
  const sorted = asked.filter(({ what }) => what === 'ok').map(({ tookMs }) => tookMs);
  sorted.sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
}
