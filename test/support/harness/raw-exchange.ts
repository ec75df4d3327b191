import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { connect as connectOverTls } from 'node:tls';

export interface RawAnswer {
  readonly text: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly ms: number;
  readonly closed: boolean;
}

export interface RawOptions {
  /** Sent after the first bytes, one after the other. */
  readonly more?: readonly (string | Buffer)[];
  /** Between two of them. */
  readonly everyMs?: number;
  /** Given up after this long. */
  readonly limitMs?: number;
  /** Wait for the connection to end, not only for an answer. */
  readonly untilClosed?: boolean;
}

function read(text: string): Pick<RawAnswer, 'status' | 'body'> {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
  try {
    return { status, body: JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as RawAnswer['body'] };
  } catch {
    return { status, body: {} };
  }
}

/** Bytes as they are, over a socket of their own. */
export function rawExchange(
  url: string,
  first: string | Buffer,
  options: RawOptions = {},
): Promise<RawAnswer> {
  const { hostname: host, port: number, protocol } = new URL(url);
  const port = Number(number);
  const start = performance.now();
  return new Promise((resolve) => {
    const socket =
      protocol === 'https:' ? connectOverTls({ host, port, rejectUnauthorized: false }) : connect(port, host);
    const rest = [...(options.more ?? [])];
    let text = '';
    let timer: NodeJS.Timeout | undefined;
    const done = (closed: boolean): void => {
      clearInterval(timer);
      clearTimeout(limit);
      socket.destroy();
      resolve({ text, ...read(text), ms: performance.now() - start, closed });
    };
    const limit = setTimeout(() => done(false), options.limitMs ?? 5000);
    socket.on('connect', () => {
      socket.write(first);
      if (rest.length === 0) return;
      timer = setInterval(() => {
        const next = rest.shift();
        if (next !== undefined && socket.writable) socket.write(next);
      }, options.everyMs ?? 1);
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN);
      if (!options.untilClosed && head !== -1 && text.length >= head + 4 + length) done(false);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => done(true));
  });
}
