import type { KeyObject } from 'node:crypto';
import { demandsFor, type SignatureDemand } from '../../../core/model/image-policy.ts';
import type { ImageReference } from '../../../core/model/image-reference.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { ImageSignature } from '../../registry/signature.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Admission, Caller } from '../admission.ts';
import { fingerprint, publicKeyOf, storedImagePolicy } from './image-policy.ts';

/** What the tenant's policy demands of an image; empty: nothing. */
export function demandsOf(tenant: TenantStore, reference: ImageReference): readonly SignatureDemand[] {
  return demandsFor(storedImagePolicy(tenant)?.record, reference);
}

/** A registry that cannot be asked has confirmed nothing: under a policy that is a refusal. */
export function unverifiable(image: string, why: string): Rejection {
  return {
    ...reject('image_signature_unverifiable', { field: 'image', received: received(image), why }),
    retryAfterSeconds: 5,
  };
}

/** Every demand has to be met by a signature of these very bytes; undefined at once: there is none. */
export function signatureRejection(
  admission: Admission,
  { tenant }: Caller,
  image: string,
  reference: ImageReference,
  digest: string,
): Promise<Rejection | undefined> | undefined {
  const demands = demandsOf(tenant, reference);
  return demands.length === 0
    ? undefined
    : demandsRejection(admission, { tenant }, image, reference, digest, demands);
}

async function demandsRejection(
  admission: Admission,
  { tenant }: Pick<Caller, 'tenant'>,
  image: string,
  reference: ImageReference,
  digest: string,
  demands: readonly SignatureDemand[],
): Promise<Rejection | undefined> {
  const outcome = await admission.imageCheck.signatures({ tenantId: tenant.tenantId, reference, digest });
  if (outcome.kind === 'unreadable') return unverifiable(image, outcome.why);
  for (const demand of demands) {
    const rejection = demandRejection(image, digest, demand, outcome.signatures);
    if (rejection) return rejection;
  }
  return undefined;
}

function demandRejection(
  image: string,
  digest: string,
  { images, keys: written }: SignatureDemand,
  signatures: readonly ImageSignature[],
): Rejection | undefined {
  const keys = written.flatMap((pem) => publicKeyOf(pem) ?? []);
  const own = signatures.filter((signature) => signature.digest === digest);
  if (own.some((signature) => keys.some((key) => signature.isBy(key)))) return undefined;
  const wanted = `The policy for ${images} wants a signature of ${digest} by ${keyList(keys)}`;
  const at = { field: 'image', received: received(image) };
  if (signatures.length === 0)
    return reject('image_unsigned', { ...at, why: `${wanted}; the registry has no signature of it.` });
  const others = signatures.length - own.length;
  const why =
    own.length === 0
      ? `${wanted}; the ${others} that the registry has beside it are of another image.`
      : `${wanted}; none of the ${own.length} signatures in the registry is by such a key.`;
  return reject('image_signature_invalid', { ...at, why });
}

function keyList(keys: readonly KeyObject[]): string {
  return keys.map(fingerprint).join(' or ');
}
