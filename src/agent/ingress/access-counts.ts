import { type FileHandle, open, stat } from 'node:fs/promises';
import { fields, fieldsIn, nonEmpty } from '../engine/fields.ts';
import type { HttpRoute, RouteTraffic } from './route.ts';

const CHUNK_BYTES = 256 * 1024;
/** Of one look; more than this comes with the next. */
const MAX_LOOK_BYTES = 16 * 1024 * 1024;
/** A line that is longer is of nobody who wants to be counted. */
const MAX_LINE_BYTES = 256 * 1024;
const HUNDREDS = 5;

/** Requests by deployment, as Caddy writes them down, from the start of this agent on. */
export class AccessCounts {
  readonly #path: string;
  #file: FileHandle | undefined;
  #offset: number | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #counted = new Map<string, { readonly answers: number[]; milliseconds: number }>();

  constructor(path: string) {
    this.#path = path;
  }

  /** What was counted since the last time. */
  take(): readonly RouteTraffic[] {
    const counted = this.#counted;
    this.#counted = new Map();
    return [...counted].map(([deployment, { answers, milliseconds }]) => ({
      deployment,
      answers,
      milliseconds: Math.round(milliseconds),
    }));
  }

  async look(routes: readonly HttpRoute[]): Promise<void> {
    const byHost = Map.groupBy(routes.toSorted(longestFirst), ({ host }) => host);
    this.#file ??= await this.#open();
    if (this.#file === undefined) return;
    const { ino, size } = await this.#file.stat();
    await this.#read(this.#file, size, byHost);
    // Another file of the same name: the one that is full was put aside, and is read to its end first.
    const now = await stat(this.#path).catch(() => undefined);
    if (now?.ino === ino || (this.#offset ?? 0) < size) return;
    await this.#file.close();
    this.#file = undefined;
    this.#offset = 0;
    this.#rest = Buffer.alloc(0);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle | undefined> {
    const file = await open(this.#path, 'r').catch(() => undefined);
    // What an earlier agent has seen is not counted again.
    this.#offset ??= file === undefined ? 0 : (await file.stat()).size;
    return file;
  }

  async #read(
    file: FileHandle,
    size: number,
    byHost: ReadonlyMap<string, readonly HttpRoute[]>,
  ): Promise<void> {
    const until = Math.min(size, (this.#offset ?? 0) + MAX_LOOK_BYTES);
    while ((this.#offset ?? 0) < until) {
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, until - (this.#offset ?? 0)));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, this.#offset);
      if (bytesRead === 0) return;
      this.#offset = (this.#offset ?? 0) + bytesRead;
      const all = Buffer.concat([this.#rest, chunk.subarray(0, bytesRead)]);
      const end = all.lastIndexOf(0x0a) + 1;
      for (const line of all.toString('utf8', 0, end).split('\n')) this.#count(line, byHost);
      this.#rest = all.length - end > MAX_LINE_BYTES ? Buffer.alloc(0) : all.subarray(end);
    }
  }

  #count(line: string, byHost: ReadonlyMap<string, readonly HttpRoute[]>): void {
    const request = requestIn(line);
    const route = request && byHost.get(request.host)?.find((one) => isFor(one, request.path));
    if (request === undefined || route === undefined) return;
    const { deployment } = route;
    const counted = this.#counted.get(deployment) ?? {
      answers: Array.from({ length: HUNDREDS }, () => 0),
      milliseconds: 0,
    };
    counted.answers[request.hundred - 1] = (counted.answers[request.hundred - 1] ?? 0) + 1;
    counted.milliseconds += request.milliseconds;
    this.#counted.set(deployment, counted);
  }
}

function longestFirst({ path: one = '/' }: HttpRoute, { path: other = '/' }: HttpRoute): number {
  return other.length - one.length;
}

/** As Caddy is told to match it. */
function isFor({ path = '/' }: HttpRoute, asked: string): boolean {
  const prefix = path.endsWith('/') ? path.slice(0, -1) : path;
  return asked === prefix || asked.startsWith(`${prefix}/`);
}

interface AccessLine {
  readonly host: string;
  readonly path: string;
  readonly hundred: number;
  readonly milliseconds: number;
}

export function requestIn(line: string): AccessLine | undefined {
  const entry = fieldsIn(line);
  const request = fields(entry['request']);
  const [host, uri, status, duration] = [
    nonEmpty(request['host']),
    nonEmpty(request['uri']),
    entry['status'],
    entry['duration'],
  ];
  const hundred = typeof status === 'number' ? Math.floor(status / 100) : 0;
  if (host === undefined || uri === undefined || hundred < 1 || hundred > HUNDREDS) return undefined;
  const [name = ''] = host.toLowerCase().split(':');
  const [path = ''] = uri.split('?');
  const seconds = typeof duration === 'number' && duration > 0 ? duration : 0;
  return { host: name, path, hundred, milliseconds: seconds * 1000 };
}
