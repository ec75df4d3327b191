import { type ImageReference, imageReferenceText, isDigest } from '../../core/model/image-reference.ts';
import type { DialAnswer } from './dialer.ts';
import { digestOf, errorCodes, type IndexChild, kindOfType, readManifest, runsOn } from './manifest.ts';
import type { ImageOutcome } from './outcome.ts';
import type { Obstacle, RegistrySession } from './session.ts';

/** An image of the reference and, if it is an index, its children. */
interface Seen {
  readonly digest: string;
  readonly children?: readonly IndexChild[];
}

/** Asks the registry; without a session (no usable host) the registry is as good as unreachable. */
export async function inspectImage(
  session: RegistrySession | undefined,
  reference: ImageReference,
  platforms: readonly string[],
): Promise<ImageOutcome> {
  if (session === undefined) return unreachable(reference);
  const seen = await seeManifest(session, reference, platforms.length > 0);
  if ('kind' in seen) return seen;
  if (seen.children === undefined) return { kind: 'found', digest: seen.digest };
  const { children } = seen;
  const offered = [
    ...new Set(children.flatMap(({ platform }) => (platform === undefined ? [] : [platform]))),
  ];
  const chosen = platforms.map((platform) => ({
    platform,
    child: children.find((child) => runsOn(child, platform)),
  }));
  const absent = chosen.filter(({ child }) => child === undefined).map(({ platform }) => platform);
  // With nodes of several platforms the scheduler sends an instance to one that has an image; only none at all is a refusal.
  if (absent.length > 0 && absent.length === platforms.length) {
    return { kind: 'missing', why: `${imageReferenceText(reference)} has no image for ${absent.join(', ')}` };
  }
  const digests = [...new Set(chosen.flatMap(({ child }) => (child === undefined ? [] : [child.digest])))];
  const answers = await Promise.all(
    digests.map((digest) => session.request('HEAD', manifestPath(reference, digest))),
  );
  for (const answer of answers) {
    if (!answer.ok) return unreachable(reference, answer.obstacle);
    if (answer.status === 404) {
      return {
        kind: 'missing',
        why: `an image that the index ${imageReferenceText(reference)} lists is not in the registry`,
      };
    }
    if (answer.status !== 200) return unreachable(reference, answer);
  }
  return { kind: 'found', digest: seen.digest, platforms: offered };
}

/** After these a GET can tell more than the HEAD did: it has a body, and some servers know no HEAD. */
const ASK_AGAIN: ReadonlySet<number> = new Set([200, 400, 404, 405, 501]);

async function seeManifest(
  session: RegistrySession,
  reference: ImageReference,
  childrenWanted: boolean,
): Promise<Seen | ImageOutcome> {
  const path = manifestPath(reference, reference.digest ?? reference.tag ?? '');
  const head = await session.request('HEAD', path);
  if (!head.ok) return unreachable(reference, head.obstacle);
  if (head.status === 404 && speaksDistribution(head)) return absent(reference);
  if (!ASK_AGAIN.has(head.status)) return unreachable(reference, head);
  const kind = head.status === 200 ? kindOfType(head.headers['content-type']) : 'unknown';
  const digest = digestHeader(head);
  const sufficient = digest !== undefined && (kind === 'image' || (kind === 'index' && !childrenWanted));
  if (sufficient)
    return reference.digest === undefined || reference.digest === digest
      ? { digest }
      : unreachable(reference);
  // The digest pins what the GET reads to what the HEAD saw.
  const pinned = head.status === 200 && digest !== undefined ? digest : reference.digest;
  return readByGet(session, reference, pinned);
}

async function readByGet(
  session: RegistrySession,
  reference: ImageReference,
  pinned: string | undefined,
): Promise<Seen | ImageOutcome> {
  const answer = await session.request('GET', manifestPath(reference, pinned ?? reference.tag ?? ''));
  if (!answer.ok) return unreachable(reference, answer.obstacle);
  if (answer.status === 404)
    return (await isConfirmed(session, answer)) ? absent(reference) : unreachable(reference, answer);
  if (answer.status !== 200) return unreachable(reference, answer);
  const digest = digestOf(answer.body);
  const manifest = readManifest(answer.body);
  const expected = reference.digest ?? pinned ?? digest;
  if (manifest === undefined || digest !== expected) return unreachable(reference);
  return manifest.kind === 'image' ? { digest } : { digest, children: manifest.children };
}

/**
 * Only a registry can say that a manifest is unknown and so confirm that the image is missing. A bare 404 may come from a
 * proxy whose registry is away, so it counts only if the same host otherwise answers as a registry.
 */
async function isConfirmed(session: RegistrySession, answer: DialAnswer): Promise<boolean> {
  if (speaksDistribution(answer)) return true;
  const base = await session.request('GET', '/v2/');
  if (!base.ok) return ['credentials_missing', 'credentials_refused', 'forbidden'].includes(base.obstacle);
  return base.status === 200;
}

const UNKNOWN_CODES: ReadonlySet<string> = new Set(['MANIFEST_UNKNOWN', 'NAME_UNKNOWN', 'NOT_FOUND']);

function speaksDistribution(answer: DialAnswer): boolean {
  const version = answer.headers['docker-distribution-api-version'];
  return (
    String(version ?? '').startsWith('registry/2') ||
    errorCodes(answer.body).some((code) => UNKNOWN_CODES.has(code))
  );
}

function manifestPath(reference: ImageReference, revision: string): string {
  return `/v2/${reference.repository}/manifests/${revision}`;
}

function digestHeader(answer: DialAnswer): string | undefined {
  const digest = answer.headers['docker-content-digest'];
  return typeof digest === 'string' && isDigest(digest) ? digest : undefined;
}

function absent(reference: ImageReference): ImageOutcome {
  return { kind: 'missing', why: `the registry holds no manifest for ${imageReferenceText(reference)}` };
}

/** The text is one and the same for a blocked address, a closed port, silence and nonsense: the check is no port scanner. */
function unreachable(reference: ImageReference, cause: Obstacle | DialAnswer = 'silent'): ImageOutcome {
  if (cause === 'store_denied')
    return {
      kind: 'credential_store_unavailable',
      denied: true,
      why: `the registry ${reference.registry} asks for credentials, and the policy of the secrets store does not let Berth read registries/${reference.registry}`,
    };
  return {
    kind: 'unreachable',
    why: `${explain(reference.registry, cause)}; whether it holds the image is not known`,
  };
}

function explain(registry: string, cause: Obstacle | DialAnswer): string {
  if (cause === 'credentials_missing')
    return `the registry ${registry} asks for credentials and none are stored at registries/${registry}`;
  if (cause === 'credentials_refused')
    return `the registry ${registry} refuses the credentials stored at registries/${registry}`;
  if (cause === 'forbidden') return `the registry ${registry} refuses access without asking for credentials`;
  if (cause === 'realm_refused')
    return `the registry ${registry} names a token service on a host that is not accepted for it`;
  if (typeof cause === 'object' && cause.status === 429)
    return `the registry ${registry} has too many requests`;
  if (typeof cause === 'object' && speaksDistribution(cause))
    return `the registry ${registry} answered ${cause.status}`;
  return `the registry ${registry} gave no usable answer in time`;
}
