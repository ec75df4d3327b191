import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { imagePolicyBody } from '../../../core/contract/access-bodies.ts';
import { readBody, type Sent } from '../../../core/schema/shape.ts';
import {
  fullPattern,
  type ImagePolicy,
  MAX_DEMANDS,
  MAX_KEY_CHARACTERS,
  MAX_KEYS,
  type SignatureDemand,
} from '../../../core/model/image-policy.ts';
import { received, redacted } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { TENANTS } from '../../../core/operations/tenants.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

type SentPolicy = Sent<typeof imagePolicyBody>;

function invalid(field: string, got: string, why: string, expected?: string): Rejection {
  return reject('image_policy_invalid', {
    field,
    received: got,
    why,
    ...(expected === undefined ? {} : { expected }),
  });
}

const PUBLIC = '-----BEGIN PUBLIC KEY-----';
const CURVES: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const MIN_RSA_BITS = 2048;

/** Undefined: no public key that signatures are verified with. A private key is none: it has no business here. */
export function publicKeyOf(pem: string): KeyObject | undefined {
  if (pem.length > MAX_KEY_CHARACTERS || !pem.trim().startsWith(PUBLIC)) return undefined;
  try {
    const key = createPublicKey(pem);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
    const isStrong =
      type === 'ed25519' ||
      (type === 'ec' && CURVES.has(details?.namedCurve)) ||
      (type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS);
    return isStrong ? key : undefined;
  } catch {
    return undefined;
  }
}

/** How people compare keys: over the same bytes whatever the PEM looks like. */
export function fingerprint(key: KeyObject): string {
  const der = key.export({ type: 'spki', format: 'der' });
  return `SHA256:${createHash('sha256').update(der).digest('base64url')}`;
}

function demandOf(
  { images, keys }: NonNullable<SentPolicy['signatures']>[number],
  index: number,
): SignatureDemand | Rejection {
  const at = `signatures[${index}]`;
  const full = images === undefined ? undefined : fullPattern(images);
  if (images === undefined || full !== images) {
    const why =
      'Images are named in full, as they are compared: registry and repository, without tag or digest; a * stands at the end, after a slash.';
    return invalid(`${at}.images`, received(images), why, full);
  }
  if (keys === undefined || keys.length === 0 || keys.length > MAX_KEYS)
    return invalid(`${at}.keys`, received(keys?.length), `An entry has 1 to ${MAX_KEYS} keys.`);
  for (const [number, pem] of keys.entries())
    if (publicKeyOf(pem) === undefined) {
      const why = `A public key in PEM is wanted: ECDSA on P-256, P-384 or P-521, Ed25519, or RSA of at least ${MIN_RSA_BITS} bits.`;
      return invalid(`${at}.keys[${number}]`, redacted(pem), why, `${PUBLIC} …`);
    }
  return { images, keys: keys.map((pem) => `${pem.trim()}\n`) };
}

function policyOf({ signatures }: SentPolicy): ImagePolicy | Rejection {
  const sent = signatures ?? [];
  if (sent.length > MAX_DEMANDS)
    return invalid('signatures', `${sent.length} entries`, `A policy has at most ${MAX_DEMANDS} entries.`);
  const demands: SignatureDemand[] = [];
  for (const [index, entry] of sent.entries()) {
    const demand = demandOf(entry, index);
    if (isRejection(demand)) return demand;
    demands.push(demand);
  }
  return { signatures: demands };
}

export function storedImagePolicy(tenant: TenantStore) {
  return tenant.get('image-policy', 'image-policy');
}

/** With the fingerprints of its keys, in their order. */
export function imagePolicyView(policy: ImagePolicy | undefined) {
  return {
    signatures: (policy?.signatures ?? []).map(({ images, keys }) => ({
      images,
      keys,
      fingerprints: keys.flatMap((pem) => {
        const key = publicKeyOf(pem);
        return key === undefined ? [] : [fingerprint(key)];
      }),
    })),
  };
}

const accepted = acceptedOf<typeof TENANTS.setImagePolicy>();

/** Replaced whole. It holds for what is written from now on: what was admitted before keeps running. */
export async function setImagePolicy(
  admission: Admission,
  caller: Caller,
  body: unknown,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof TENANTS.setImagePolicy>> {
  const sent = readBody(imagePolicyBody, body);
  if (isRejection(sent)) return sent;
  const policy = policyOf(sent);
  if (isRejection(policy)) return policy;
  return commitAttempts(admission, caller, () => {
    const before = storedImagePolicy(caller.tenant);
    const outdated = revisionRejection(ifMatch, before?.modRevision ?? 0);
    if (outdated) return outdated;
    const transaction = caller.tenant
      .transaction()
      .expect('image-policy', 'image-policy', before)
      .put('image-policy', 'image-policy', policy);
    const { tenantId } = caller.tenant;
    const subject = { kind: 'Tenant', name: caller.tenantSlug } as const;
    admission.journal.audit(transaction, tenantId, caller, 'tenant.image_policy_set', subject);
    const removed = (before?.record.signatures ?? [])
      .filter(({ images }) => !policy.signatures.some((kept) => kept.images === images))
      .map(({ images }) => `signatures[${images}]`);
    const announced = { alterations: [], warnings: [], removed };
    return { answer: accepted(200, { ...imagePolicyView(policy), ...announced }), transaction };
  });
}
