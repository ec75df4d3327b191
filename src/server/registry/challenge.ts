import { isIP } from 'node:net';
import { getDomain } from 'tldts';
import { bareHost, effectivePort, parseUrl } from './destinations.ts';

export interface Challenge {
  readonly scheme: string;
  readonly params: ReadonlyMap<string, string>;
}

// One scheme or one parameter from where the last match ended; a text that fits neither ends the parse.
const PIECE = /[\s,]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/y;

/** The challenges of a WWW-Authenticate header, several headers joined by commas included. */
export function parseChallenges(header: string): readonly Challenge[] {
  const challenges: { readonly scheme: string; readonly params: Map<string, string> }[] = [];
  const piece = new RegExp(PIECE);
  for (let match = piece.exec(header); match !== null; match = piece.exec(header)) {
    const [, name = '', quoted, bare] = match;
    const value = quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, '$1');
    const current = challenges.at(-1);
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), params: new Map() });
    else if (current !== undefined && !current.params.has(name.toLowerCase()))
      current.params.set(name.toLowerCase(), value);
  }
  return challenges;
}

/** Token services that are known to belong to a registry on another host. */
const KNOWN_AUTH_HOSTS: Readonly<Record<string, readonly string[]>> = {
  'registry-1.docker.io': ['auth.docker.io'],
  'registry.gitlab.com': ['gitlab.com'],
};

/** Parents under which strangers rent names, and which the list of public suffixes does not have. */
const SHARED_PARENTS: ReadonlySet<string> = new Set([
  'amazonaws.com',
  'azurecr.io',
  'googleusercontent.com',
  'jfrog.io',
  'pkg.dev',
  'run.app',
]);

/**
 * The token service that a registry names, if credentials for that registry may be sent there; undefined
 * otherwise, and then it is not asked at all. A realm is text from outside: it decides where a password goes.
 */
export function trustedRealm(
  realm: string,
  registry: URL,
  authHosts: Readonly<Record<string, readonly string[]>> = {},
): URL | undefined {
  const url = parseUrl(realm);
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  if (url.username !== '' || url.password !== '' || url.hash !== '') return undefined;
  // A password that the registry would get over TLS does not leave in the clear.
  if (url.protocol === 'http:' && registry.protocol === 'https:') return undefined;
  if (url.hostname === registry.hostname) {
    const samePort = effectivePort(url) === effectivePort(registry);
    return samePort || url.protocol === 'https:' || listed(url, registry, authHosts) ? url : undefined;
  }
  if (listed(url, registry, KNOWN_AUTH_HOSTS) || listed(url, registry, authHosts)) return url;
  return url.protocol === 'https:' && sameOwner(url, registry) ? url : undefined;
}

function listed(url: URL, registry: URL, hosts: Readonly<Record<string, readonly string[]>>): boolean {
  const accepted = [...(hosts[registry.host] ?? []), ...(hosts[registry.hostname] ?? [])];
  return accepted.includes(url.host);
}

/** Same registrable domain; names right under a suffix that strangers share (co.uk, github.io) are of different owners. */
function sameOwner(a: URL, b: URL): boolean {
  if (isIP(bareHost(a)) !== 0 || isIP(bareHost(b)) !== 0) return false;
  const domain = getDomain(a.hostname, { allowPrivateDomains: true });
  if (domain === null || SHARED_PARENTS.has(domain)) return false;
  return domain === getDomain(b.hostname, { allowPrivateDomains: true });
}
