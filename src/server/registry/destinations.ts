import { isIP } from 'node:net';
import type { AddressClass } from './addresses.ts';

export interface DestinationLists {
  /** Hosts that may have private addresses: `host` (its usual ports of registries), `host:port`, `host:*`, or either with `http://` or `https://` before it. */
  readonly allowPrivate: readonly string[];
  /** Hosts with public addresses that are accessed over plain HTTP: `host` or `host:port`. */
  readonly insecure?: readonly string[];
  /** Which setting the entries are of, for what is said of a mistyped one. Default: registries. */
  readonly setting?: string;
}

/** The classes of address that a destination may resolve to. */
export type Grant = readonly AddressClass[];

export interface Destinations {
  /** The root URL of a registry written as `host[:port]`; undefined if it is no host. */
  registryUrl(registry: string): URL | undefined;
  /**
   * Undefined: no request may be made to this URL, whatever it resolves to. `sentBy` is the registry whose answer
   * (a redirect, an auth realm) named the URL. Such an answer may be hostile, so it opens a private address only
   * if that is the registry itself or an entry names host and port.
   */
  grant(url: URL, sentBy?: URL): Grant | undefined;
}

interface Listed {
  readonly host: string;
  /** `any`: every port except the closed ones. */
  readonly port?: number | 'any';
  readonly protocol?: 'http:' | 'https:';
  readonly inside: boolean;
}

const ENTRY = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[^:/@?#[\]]+)(?::([0-9]{1,5}|\*))?$/i;

/** Ports on which no registry listens but the platform's own parts and data stores do: only an entry that names one opens it. */
const CLOSED_PORTS: ReadonlySet<number> = new Set([
  21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 636, 873, 993, 995, 1433, 2049, 2375, 2376,
  2377, 2379, 2380, 3306, 3389, 4001, 5432, 5672, 6379, 6443, 8200, 8201, 8300, 8500, 9092, 9200, 10250,
  10255, 11211, 27017,
]);

/** Where registries listen. A private host that is listed without a port opens these and no others: not a way to try its ports. */
const REGISTRY_PORTS: ReadonlySet<number> = new Set([80, 443, 5000]);

function opensPort({ port: named, inside }: Listed, port: number): boolean {
  if (named === undefined) return !inside || REGISTRY_PORTS.has(port);
  return named === 'any' || named === port;
}

/** Throws on an entry that is no host, so that a mistyped configuration stops the start. */
export function createDestinations(lists: DestinationLists): Destinations {
  const listed = [
    ...lists.allowPrivate.map((entry) => parseEntry(entry, true, lists.setting)),
    ...(lists.insecure ?? []).map((entry) => ({
      ...parseEntry(entry, false, lists.setting),
      protocol: 'http:' as const,
    })),
  ];
  const find = (host: string, port: number): readonly Listed[] =>
    listed.filter((entry) => entry.host === host && opensPort(entry, port));

  return {
    registryUrl(registry) {
      const secure = parseUrl(`https://${registry}/`);
      const plain = parseUrl(`http://${registry}/`);
      if (secure === undefined || plain === undefined || secure.username !== '') return undefined;
      const entries = find(secure.hostname, effectivePort(plain));
      const speaksPlain = entries.some((entry) => protocolOf(entry) === 'http:');
      return speaksPlain ? plain : secure;
    },
    grant(url, sentBy) {
      if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
      if (url.username !== '' || url.password !== '') return undefined;
      const port = effectivePort(url);
      const self =
        sentBy === undefined || (sentBy.hostname === url.hostname && effectivePort(sentBy) === port);
      const entries = find(url.hostname, port).filter((entry) => self || typeof entry.port === 'number');
      if (port === 0 || (CLOSED_PORTS.has(port) && !entries.some((entry) => entry.port === port)))
        return undefined;
      if (url.protocol === 'http:' && !entries.some((entry) => protocolOf(entry) === 'http:'))
        return undefined;
      if (!entries.some((entry) => entry.inside)) return ['public'];
      return isIP(bareHost(url)) === 0 ? ['public', 'inside'] : ['public', 'inside', 'guarded'];
    },
  };
}

/** Without the brackets of an IPv6 literal. */
export function bareHost(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function effectivePort(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'http:' ? 80 : 443;
}

export function parseUrl(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
}

function parseEntry(entry: string, inside: boolean, setting = 'registries'): Listed {
  const [, scheme, host = '', port] = ENTRY.exec(entry.trim()) ?? [];
  const hostname = parseUrl(`http://${host}/`)?.hostname ?? '';
  const named = port === '*' ? 1 : Number(port ?? 1);
  if (hostname === '' || named > 65_535 || named === 0) {
    throw new Error(`${setting}: ${JSON.stringify(entry)} is no host, host:port or http(s)://host[:port]`);
  }
  return {
    host: hostname,
    inside,
    ...(port === undefined ? {} : { port: port === '*' ? 'any' : named }),
    ...(scheme === undefined ? {} : { protocol: scheme.toLowerCase() === 'http' ? 'http:' : 'https:' }),
  };
}

/** As the engine does: a loopback registry speaks plain HTTP unless the entry says otherwise, all others TLS. */
function protocolOf(entry: Listed): 'http:' | 'https:' {
  if (entry.protocol !== undefined) return entry.protocol;
  const loopback =
    entry.host === 'localhost' || entry.host === '[::1]' || /^127(?:\.[0-9]+){3}$/.test(entry.host);
  return loopback ? 'http:' : 'https:';
}
