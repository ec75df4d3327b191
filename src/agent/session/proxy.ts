import { BlockList, connect, isIP, type Socket } from 'node:net';

/** What a proxy may answer before it is none. */
const MAX_HEADER_BYTES = 16 * 1024;
const HEADER_END = '\r\n\r\n';
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/** A proxy that opens connections by `CONNECT`. */
export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** Of the header `Proxy-Authorization`. */
  readonly authorization?: string;
}

/** How this machine gets out. */
export interface WayOut {
  /** As PEM, beside what the machine trusts. */
  readonly ca: readonly string[];
  proxyFor(server: URL): Proxy | undefined;
}

export const DIRECT: WayOut = { ca: [], proxyFor: () => undefined };

/** Undefined: no address of a proxy. */
export function parseProxy(text: string): Proxy | undefined {
  const written = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url === undefined || url.protocol !== 'http:' || url.hostname === '') return undefined;
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || password === undefined) return undefined;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port === '' ? 80 : url.port),
    ...(user !== '' && {
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    }),
  };
}

/** Undefined: a `%` in it stands for nothing. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** `network`: e.g. 10.0.0.0/8. */
function isWithin(host: string, network: string): boolean {
  const [, base = '', bits] = /^([^/]+)\/(\d{1,3})$/.exec(network) ?? [];
  const family = isIP(base);
  if (family === 0 || isIP(host) !== family || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(base, Number(bits), type);
  return list.check(host, type);
}

/** `list`: names with the hosts below them, addresses, networks, each with a port or without; `*`: all. This machine is never reached through a proxy. */
export function isExempt(server: URL, list: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (LOOPBACK.test(host)) return true;
  const port = server.port === '' ? (server.protocol === 'https:' ? '443' : '80') : server.port;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = entry, only] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? [];
      const bare = name.replace(/^\*?\./, '').replace(/^\[|\]$/g, '');
      if (only !== undefined && only !== port) return false;
      return host === bare || host.endsWith(`.${bare}`) || isWithin(host, bare);
    });
}

/** A connection through the proxy that nothing was said on yet; a deadline is the caller's. */
export function tunnel(
  proxy: Proxy,
  host: string,
  port: number,
  done: (error: Error | undefined) => void,
): Socket {
  const socket = connect({ host: proxy.host, port: proxy.port });
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  let answer = '';
  const settle = (error?: Error): void => {
    socket.off('error', fail);
    socket.off('close', onEnd);
    socket.off('data', onData);
    if (error === undefined) return done(undefined);
    socket.on('error', () => {});
    socket.destroy();
    done(new Error(`the proxy ${proxy.host}:${proxy.port}: ${error.message}`, { cause: error }));
  };
  const fail = (error: Error): void => settle(error);
  const onEnd = (): void => settle(new Error('it closed the connection'));
  const onData = (chunk: Buffer): void => {
    answer += chunk.toString('latin1');
    const end = answer.indexOf(HEADER_END);
    if (end === -1 && answer.length <= MAX_HEADER_BYTES) return;
    const [, status, reason = ''] = /^HTTP\/1\.[01] (\d{3}) ?([^\r\n]{0,200})/.exec(answer) ?? [];
    // The control plane says nothing first: what came along is not from it.
    const isOpen = status?.startsWith('2') === true && end + HEADER_END.length === answer.length;
    settle(isOpen ? undefined : new Error(refusal(status, reason, target)));
  };
  socket.once('error', fail);
  socket.once('close', onEnd);
  socket.on('data', onData);
  socket.once('connect', () => {
    const authorization =
      proxy.authorization === undefined ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  });
  return socket;
}

function refusal(status: string | undefined, reason: string, target: string): string {
  if (status === undefined) return `it does not speak HTTP (asked for ${target})`;
  if (status === '407') return `it wants to know who asks (407): give --proxy http://USER:PASSWORD@HOST:PORT`;
  return `it opens no connection to ${target}: ${status} ${reason}`.trimEnd();
}
