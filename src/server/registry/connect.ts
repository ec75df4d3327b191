import { Resolver, promises as dns } from 'node:dns';
import { isIP, connect as netConnect, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { getCACertificates, connect as tlsConnect } from 'node:tls';
import { canonicalAddress, classifyAddress } from './addresses.ts';
import { bareHost, effectivePort, type Grant } from './destinations.ts';

/** For the operator's log and metrics. The answer to a tenant does not depend on it. */
export type DialFailureKind =
  | 'blocked'
  | 'unresolved'
  | 'unconnected'
  | 'timeout'
  | 'oversize'
  | 'broken'
  | 'busy'
  | 'closed';

export class DialError extends Error {
  readonly failure: DialFailureKind;

  constructor(failure: DialFailureKind, cause?: unknown) {
    super(`outbound request ${failure}`, { cause });
    this.name = 'DialError';
    this.failure = failure;
  }
}

/** All addresses of a name. */
export type AddressResolver = (hostname: string, grant: Grant) => Promise<readonly string[]>;

export interface ConnectOptions {
  readonly resolver: AddressResolver;
  /** PEM certificates trusted besides the system's. */
  readonly ca: readonly string[];
  /** Addresses of this machine, which count as inside whatever their range. */
  readonly ownAddresses: () => readonly string[];
}

export interface Target {
  readonly url: URL;
  readonly grant: Grant;
  readonly signal: AbortSignal;
}

/**
 * Names that the operator listed go through the system's resolver (hosts file included). All others come from
 * tenants and go to DNS only: the system's resolver blocks a thread of the pool for as long as the tenant's name
 * server likes, and it would expand short names in the platform's own search domains.
 */
export function createSystemResolver(): { readonly resolve: AddressResolver; readonly cancel: () => void } {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  const ask = (method: 'resolve4' | 'resolve6', hostname: string): Promise<readonly string[]> =>
    new Promise((resolve) => {
      resolver[method](hostname, (error, addresses) => resolve(error ? [] : addresses));
    });
  return {
    async resolve(hostname, grant) {
      if (grant.includes('inside')) {
        const answers = await dns.lookup(hostname, { all: true });
        return answers.map((answer) => answer.address);
      }
      return (await Promise.all([ask('resolve4', hostname), ask('resolve6', hostname)])).flat();
    },
    cancel: () => resolver.cancel(),
  };
}

export function systemAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map((entry) => entry.address),
  );
}

/**
 * Resolves once, checks every answer, connects to nothing but a checked answer, and checks the connected
 * socket's address again before a byte is sent. A name that resolves differently a moment later gains nothing.
 */
export async function connectChecked(target: Target, options: ConnectOptions): Promise<Socket> {
  const { url, grant, signal } = target;
  const host = bareHost(url);
  const permitted = permit(grant, options.ownAddresses());
  const addresses = isIP(host) === 0 ? await resolveBefore(signal, options.resolver(host, grant)) : [host];
  if (addresses.length === 0) throw new DialError('unresolved');
  if (!addresses.every(permitted)) throw new DialError('blocked');
  const socket = netConnect({
    host,
    port: effectivePort(url),
    lookup: pinned(addresses),
    autoSelectFamily: true,
    noDelay: true,
  });
  await established(socket, 'connect', signal);
  if (!permitted(socket.remoteAddress ?? '')) {
    socket.destroy();
    throw new DialError('blocked');
  }
  if (url.protocol === 'http:') return socket;
  const secured = tlsConnect({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(options.ca.length === 0 ? {} : { ca: [...getCACertificates('default'), ...options.ca] }),
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
  await established(secured, 'secureConnect', signal);
  return secured;
}

export function permit(grant: Grant, own: readonly string[]): (address: string) => boolean {
  const ours = new Set(own.map(canonicalAddress));
  return (address) => {
    const found = classifyAddress(address);
    return grant.includes(found === 'public' && ours.has(canonicalAddress(address)) ? 'inside' : found);
  };
}

function pinned(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, lookup, callback) => {
    if (lookup.all === true) callback(null, answers);
    else callback(null, answers[0]?.address ?? '', answers[0]?.family);
  };
}

async function resolveBefore(
  signal: AbortSignal,
  answer: Promise<readonly string[]>,
): Promise<readonly string[]> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(new DialError('timeout'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([answer, aborted.promise]);
  } catch (error) {
    throw error instanceof DialError ? error : new DialError('unresolved', error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The signal ends the attempt only: the connection may serve later requests, which have signals of their own. */
function established(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off('error', failed);
      socket.off('close', failed);
      signal.removeEventListener('abort', aborted);
    };
    const failed = (error?: unknown): void => {
      settle();
      // A late error of the destroyed socket has no other listener.
      socket.on('error', () => {});
      socket.destroy();
      reject(new DialError('unconnected', error));
    };
    const aborted = (): void => failed(signal.reason);
    if (signal.aborted) return failed(signal.reason);
    socket.once('error', failed);
    socket.once('close', failed);
    signal.addEventListener('abort', aborted, { once: true });
    socket.once(event, () => {
      settle();
      resolve();
    });
  });
}
