import type { Alteration, Warning } from '../../../core/model/announcement.ts';
import type { DeploymentRecord, Workload, SeenImage } from '../../../core/model/deployment.ts';
import {
  type ImageReference,
  parseImageReference,
  pinnedImage,
} from '../../../core/model/image-reference.ts';
import { pinOf, type Pinned, runIdentity } from '../../../core/model/spec-snapshot.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { ImageOutcome } from '../../registry/outcome.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { type Admission, type Caller, specHash } from '../admission.ts';
import { demandsOf, signatureRejection, unverifiable } from './image-signatures.ts';

export interface ImageTerms {
  /** What runs now; absent: nothing does. */
  readonly before?: { readonly image: string; readonly seenImages?: readonly SeenImage[] } & Pinned;
  /** The request names the image. If not, it stays what it was seen to be: scaling must not depend on a registry. */
  readonly sent: boolean;
  /** The bytes that are asked for again: those of an earlier version, of a backup or of a canary. */
  readonly wanted?: string;
  /** Nothing is to run. */
  readonly stops?: boolean;
}

export interface ImageAnswer extends Pinned {
  readonly warnings: readonly Warning[];
}

/**
 * Which bytes the image stands for, from the registry. The three other outcomes are: confirmed missing, credential
 * store away, merely unreachable.
 */
export function imageAnswer(
  admission: Admission,
  caller: Caller,
  image: string,
  terms: ImageTerms,
): Promise<ImageAnswer | Rejection> | ImageAnswer | Rejection {
  const { before, sent, wanted, stops } = terms;
  const isSame = before?.image === image;
  const parsed = parseImageReference(image);
  if (!parsed.ok) throw new Error('the image rule has already established that the reference can be parsed');
  const { digest } = parsed.reference;
  const demanded = demandsOf(caller.tenant, parsed.reference).length > 0;
  // What is pinned was admitted. Without a digest nodes pull what they find: under a policy that is re-checked, unless it stops.
  const isPinned = before?.imageDigest !== undefined || !demanded || stops === true;
  const isSettled =
    wanted === undefined
      ? (!sent && isPinned) || (digest !== undefined && !demanded)
      : wanted === before?.imageDigest;
  if (isSame && isSettled) return keptImage(before);
  const asked = { image, reference: parsed.reference, demanded, terms };
  const outcome = admission.imageCheck.check({
    tenantId: caller.tenant.tenantId,
    reference:
      digest === undefined && wanted !== undefined
        ? { ...parsed.reference, digest: wanted }
        : parsed.reference,
    platforms: platformsOf(caller.tenant),
    again: isSame,
  });
  return outcome instanceof Promise
    ? outcome.then((later) => judgedOutcome(admission, caller, asked, later))
    : judgedOutcome(admission, caller, asked, outcome);
}

interface AskedImage {
  readonly image: string;
  readonly reference: ImageReference;
  /** A policy of the tenant asks for signatures. */
  readonly demanded: boolean;
  readonly terms: ImageTerms;
}

function judgedOutcome(
  admission: Admission,
  caller: Caller,
  asked: AskedImage,
  outcome: ImageOutcome,
): Promise<ImageAnswer | Rejection> | ImageAnswer | Rejection {
  const { image, demanded, terms } = asked;
  const { before, wanted } = terms;
  if (outcome.kind === 'found') {
    const { digest } = outcome;
    const moved = wanted === undefined ? movedWarnings(image, digest, before?.seenImages) : [];
    const answer = { imageDigest: digest, warnings: moved };
    const signed = signatureRejection(admission, caller, image, asked.reference, digest);
    return signed === undefined ? answer : signed.then((refused) => refused ?? answer);
  }
  if (demanded && outcome.kind === 'unreachable') return unverifiable(image, outcome.why);
  // An unchanged image was checked when it was written; it stays what it was seen to be.
  if (before?.image === image && wanted === undefined && !demanded) return keptImage(before);
  return notSeen(image, outcome, wanted);
}

function keptImage(before: ImageTerms['before']): ImageAnswer {
  return { ...pinOf(before?.imageDigest), warnings: [] };
}

type Nodes = ReturnType<typeof nodesOf>;

function nodesOf(tenant: TenantStore) {
  return tenant.collection('nodes');
}

const knownPlatforms = new WeakMap<
  Nodes,
  { readonly changes: number; readonly platforms: readonly string[] }
>();

/** Of the tenant's nodes. A tenant may have many, and they change seldom. */
function platformsOf(tenant: TenantStore): readonly string[] {
  const nodes = nodesOf(tenant);
  const { changes } = nodes;
  const known = knownPlatforms.get(nodes);
  if (known?.changes === changes) return known.platforms;
  const platforms = [...new Set(nodes.list().map(({ record }) => record.platform))].sort();
  knownPlatforms.set(nodes, { changes, platforms });
  return platforms;
}

function notSeen(
  image: string,
  outcome: Exclude<ImageOutcome, { readonly kind: 'found' }>,
  wanted: string | undefined,
): ImageAnswer | Rejection {
  const at = { field: 'image', received: received(image) };
  switch (outcome.kind) {
    case 'missing':
      return reject('image_not_found', {
        ...at,
        why: wanted === undefined ? outcome.why : `${outcome.why}. ${goneText(image, wanted)}`,
      });
    case 'credential_store_unavailable':
      return {
        ...reject('registry_credential_store_unavailable', { ...at, why: outcome.why }),
        ...(outcome.denied === true ? {} : { retryAfterSeconds: 5 }),
      };
    case 'unreachable':
      return {
        ...pinOf(wanted),
        warnings: [{ code: 'registry_unreachable', field: 'image', why: outcome.why }],
      };
  }
}

function goneText(image: string, wanted: string): string {
  return `That version ran ${wanted}: push it again, or write the deployment with ${image} to run what the tag is now`;
}

function movedWarnings(
  image: string,
  digest: string,
  seen: readonly SeenImage[] | undefined,
): readonly Warning[] {
  const earlier = seen?.find((one) => one.image === image);
  if (earlier === undefined || earlier.digest === digest) return [];
  const why = `${image} was ${earlier.digest} at version ${earlier.version} and is ${digest} now; what runs is replaced by that. A tag that moves says nothing of what runs: give every build its own, or write ${pinnedImage(image, digest)}.`;
  return [{ code: 'image_tag_moved', field: 'image', why }];
}

/** Enough to tell a tag that moves, and to keep what may be rolled back to; more would only make records longer. */
const SEEN_IMAGES = 8;

export function seenAfter(
  seen: readonly SeenImage[] = [],
  image: string,
  digest: string | undefined,
  version: number,
): readonly SeenImage[] {
  if (digest === undefined || (seen[0]?.image === image && seen[0].digest === digest)) return seen;
  const others = seen.filter((one) => one.image !== image || one.digest !== digest);
  return [{ image, digest, version }, ...others].slice(0, SEEN_IMAGES);
}

/** See `runIdentity`; `beside` is what may not be stored yet. */
export function identityOf(
  tenant: TenantStore,
  spec: Workload,
  imageDigest: string | undefined,
  beside?: { readonly specHash: string } & Pinned,
): ReturnType<typeof runIdentity> {
  const keptOf = (hash: string) =>
    hash === beside?.specHash ? beside : tenant.get('specs', idOf('specs', spec.name, hash))?.record;
  return runIdentity(spec, imageDigest, specHash, keptOf);
}

/** With the digest where it is new: the server decides which bytes run, not the client. */
export function digestAlterations(
  alterations: readonly Alteration[],
  image: string,
  after: Pinned,
  before: Pick<DeploymentRecord, 'imageDigest'> | undefined,
): readonly Alteration[] {
  if (
    after.imageDigest === before?.imageDigest ||
    (pinnedImage(image, after.imageDigest) === image && after.imageDigest !== undefined)
  )
    return alterations;
  const announced: Alteration = {
    field: 'imageDigest',
    from: received(before?.imageDigest),
    to: received(after.imageDigest),
    why:
      after.imageDigest === undefined
        ? 'the registry could not be asked what the image is: every node pulls what it finds'
        : `what the registry has for ${image}: every instance of this version runs it`,
  };
  return [...alterations.filter(({ field }) => field !== announced.field), announced];
}
