import { setTimeout as delay } from 'node:timers/promises';
import { DOCKER_HUB, type ImageReference } from '../../core/model/image-reference.ts';
import type { TenantId } from '../../core/model/ids.ts';
import {
  type RegistryCredentialSource,
  CredentialStoreDeniedError,
  CredentialStoreUnavailableError,
  type RegistryCredentials,
} from './credentials.ts';
import type { Dialer } from './dialer.ts';
import { createFoundCache } from './found-cache.ts';
import { inspectImage } from './inspect.ts';
import type { ImageOutcome, SignatureOutcome } from './outcome.ts';
import { type CredentialAnswer, createRegistrySession } from './session.ts';
import { readSignatures, SignaturesUnreadableError } from './signatures.ts';

export interface ImageCheckRequest {
  readonly tenantId: TenantId;
  readonly reference: ImageReference;
  /** `os/architecture[/variant]`, each of which an index must have an image for; empty = none is asked for. */
  readonly platforms: readonly string[];
  /** What the tag is now: no kept answer will do. A registry that was unreachable a moment ago is not waited for again. */
  readonly again?: boolean;
}

export interface ImageCheck {
  /** At once where the answer is known. */
  check(request: ImageCheckRequest): Promise<ImageOutcome> | ImageOutcome;
  signatures(
    request: Pick<ImageCheckRequest, 'tenantId' | 'reference'> & { readonly digest: string },
  ): Promise<SignatureOutcome>;
}

export interface ImageCheckOptions {
  readonly dialer: Dialer;
  readonly credentials: RegistryCredentialSource;
  /** Milliseconds that only grow. */
  readonly clock?: () => number;
  /** Token services accepted besides the built-in ones, by registry host: hosts with their port if it is not the usual. */
  readonly authHosts?: Readonly<Record<string, readonly string[]>>;
  readonly timeoutMs?: number;
  readonly foundForMs?: number;
  readonly maxCached?: number;
  /** An unreachable registry is reported no earlier, and if later, only at the timeout; see `pace`. */
  readonly unreachableAfterMs?: number;
}

/** How long a question that is asked again takes an unreachable registry for still unreachable. */
const SILENT_MS = 10_000;
/** A tag is what it is now: kept just long enough that many writes at once do not ask one by one. */
const TAG_MS = 1000;
/** For all signatures of an image together. */
const SIGNATURES_MS = 5000;

export function createImageCheck(options: ImageCheckOptions): ImageCheck {
  const clock = options.clock ?? (() => performance.now());
  const timeoutMs = options.timeoutMs ?? 3000;
  const stepMs = options.unreachableAfterMs ?? 500;
  const cache = createFoundCache<ImageOutcome>({
    clock,
    ttlMs: options.foundForMs ?? 60_000,
    maxEntries: options.maxCached ?? 4096,
  });
  const silent = createFoundCache<ImageOutcome>({
    clock,
    ttlMs: SILENT_MS,
    maxEntries: options.maxCached ?? 4096,
  });
  const flights = new Map<string, Promise<ImageOutcome>>();
  const foundForMs = options.foundForMs ?? 60_000;
  const keptMs = ({ digest }: ImageReference): number =>
    digest === undefined ? Math.min(TAG_MS, foundForMs) : foundForMs;

  function converse(
    { tenantId, reference }: Pick<ImageCheckRequest, 'tenantId' | 'reference'>,
    signal = AbortSignal.timeout(timeoutMs),
  ) {
    const credentials = readCredentials(options.credentials(tenantId, reference.registry), signal);
    // Not always awaited; a fault of the source must not surface as an unhandled rejection then.
    credentials.catch(() => {});
    const registry = options.dialer.registryUrl(apiHost(reference.registry));
    const session =
      registry &&
      createRegistrySession({
        dialer: options.dialer,
        registry,
        repository: reference.repository,
        tenantId,
        credentials,
        authHosts: options.authHosts ?? {},
        timeoutMs,
        signal,
      });
    return { session, credentials };
  }

  async function ask(request: ImageCheckRequest): Promise<ImageOutcome> {
    const { session, credentials } = converse(request);
    const outcome = await inspectImage(session, request.reference, request.platforms);
    // A manifest that was seen is proof. Anything else might have been another answer with the credentials.
    if (outcome.kind === 'found' || (await credentials).available) return outcome;
    return {
      kind: 'credential_store_unavailable',
      why: 'the store that holds registry credentials cannot be read',
    };
  }

  async function fly(key: string, request: ImageCheckRequest): Promise<ImageOutcome> {
    const start = performance.now();
    try {
      const outcome = await ask(request);
      // Only what was found is kept: after image_not_found the user pushes and tries again at once.
      if (outcome.kind === 'found') cache.put(key, outcome, keptMs(request.reference));
      if (outcome.kind === 'unreachable') {
        silent.put(silenceKey(request), outcome);
        await delay(pace(performance.now() - start, stepMs, timeoutMs));
      } else silent.delete(silenceKey(request));
      return outcome;
    } finally {
      flights.delete(key);
    }
  }

  return {
    async signatures(request) {
      const { session } = converse(request, AbortSignal.timeout(SIGNATURES_MS));
      const { registry } = request.reference;
      const silentWhy = `the registry ${registry} did not say which signatures it has`;
      if (session === undefined) return { kind: 'unreadable', why: silentWhy };
      try {
        return { kind: 'read', signatures: await readSignatures(session, request.reference, request.digest) };
      } catch (error) {
        if (!(error instanceof SignaturesUnreadableError)) throw error;
        return { kind: 'unreadable', why: `${silentWhy} (${error.message})` };
      }
    },
    check(request) {
      const key = questionKey(request);
      const cached = request.again === true ? silent.get(silenceKey(request)) : cache.get(key);
      if (cached !== undefined) return cached;
      const flight = flights.get(key) ?? fly(key, request);
      flights.set(key, flight);
      return flight;
    },
  };
}

/** Members of a reference hold no spaces: put together like this it is made faster than as JSON. */
function questionKey({ tenantId, reference, platforms }: ImageCheckRequest): string {
  const { registry, repository, tag = '', digest = '' } = reference;
  const wanted = platforms.length === 0 ? '' : JSON.stringify(platforms.toSorted());
  return `${tenantId} ${registry} ${repository} ${tag} ${digest} ${wanted}`;
}

function silenceKey({ tenantId, reference }: ImageCheckRequest): string {
  return JSON.stringify([tenantId, reference.registry]);
}

/**
 * How long to wait with the answer that a registry is unreachable. A blocked address, a closed port and a name
 * without an address fail at once, an odd service a little later; all of them answer after one step, so that the
 * answer's time reveals nothing about what is there. What takes longer answers at the deadline.
 */
function pace(elapsedMs: number, stepMs: number, timeoutMs: number): number {
  if (stepMs === 0) return 0;
  return Math.max(0, (elapsedMs <= stepMs ? stepMs : timeoutMs) - elapsedMs);
}

function apiHost(registry: string): string {
  return registry === DOCKER_HUB ? 'registry-1.docker.io' : registry;
}

/** A store that does not answer in time is away as well. Other errors of the source are faults and stay thrown. */
async function readCredentials(
  read: Promise<RegistryCredentials | undefined>,
  signal: AbortSignal,
): Promise<CredentialAnswer> {
  const expired = Promise.withResolvers<CredentialAnswer>();
  const expire = (): void => expired.resolve({ available: false });
  signal.addEventListener('abort', expire, { once: true });
  const answered = async (): Promise<CredentialAnswer> => {
    try {
      return { available: true, credentials: await read };
    } catch (error) {
      if (error instanceof CredentialStoreUnavailableError) return { available: false };
      if (error instanceof CredentialStoreDeniedError)
        return { available: true, credentials: undefined, denied: true };
      throw error;
    }
  };
  try {
    return await Promise.race([answered(), expired.promise]);
  } finally {
    signal.removeEventListener('abort', expire);
  }
}
