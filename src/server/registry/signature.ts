import { constants, type KeyObject, verify } from 'node:crypto';
import { bundleFromJSON, isBundleWithDsseEnvelope, isBundleWithPublicKey } from '@sigstore/bundle';
import { type SignedEntity, toSignedEntity, Verifier } from '@sigstore/verify';
import { isRecord, parseJson } from '../../core/model/values.ts';

/** Something that claims to be a signature of an image: the digest that it names, and whether a key made it. */
export interface ImageSignature {
  readonly digest: string;
  isBy(key: KeyObject): boolean;
}

const PAYLOAD_TYPE = 'cosign container image signature';
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** Of what a bundle states: other statements about an image (how it was built, what is in it) are no consent to run it. */
const SIGNATURE_PREDICATE = 'https://sigstore.dev/cosign/sign/v1';

/** The payload that cosign signs, with the signature beside it. Undefined: it is something else. */
export function simpleSignature(payload: Buffer, signature: string): ImageSignature | undefined {
  const document = parseJson(payload.toString('utf8'));
  const critical = isRecord(document) ? document['critical'] : undefined;
  if (!isRecord(critical) || critical['type'] !== PAYLOAD_TYPE || !isRecord(critical['image']))
    return undefined;
  const digest = critical['image']['docker-manifest-digest'];
  if (typeof digest !== 'string') return undefined;
  const bytes = Buffer.from(signature, 'base64');
  return { digest, isBy: (key) => verifies(payload, bytes, key) };
}

/** ECDSA, RSA and its PSS form over SHA-256, or Ed25519: what cosign makes with these keys. */
function verifies(payload: Buffer, signature: Buffer, key: KeyObject): boolean {
  if (key.asymmetricKeyType === 'ed25519') return verify(null, payload, key, signature);
  if (verify('sha256', payload, key, signature)) return true;
  return (
    key.asymmetricKeyType === 'rsa' &&
    verify('sha256', payload, { key, padding: constants.RSA_PKCS1_PSS_PADDING }, signature)
  );
}

/** A bundle of Sigstore that a key signed; its proofs of a transparency log are not needed where the key is known. */
export function bundleSignature(text: Buffer): ImageSignature | undefined {
  try {
    const bundle = bundleFromJSON(parseJson(text.toString('utf8')));
    if (!isBundleWithDsseEnvelope(bundle) || !isBundleWithPublicKey(bundle)) return undefined;
    const digest = statedDigest(bundle.content.dsseEnvelope.payload);
    if (digest === undefined) return undefined;
    const entity: SignedEntity = { ...toSignedEntity(bundle), tlogEntries: [], timestamps: [] };
    return { digest, isBy: (key) => isSignedBy(entity, key) };
  } catch {
    // Anything that is not a bundle throws.
    return undefined;
  }
}

function isSignedBy(entity: SignedEntity, key: KeyObject): boolean {
  const publicKey = () => ({ publicKey: key, validFor: () => true });
  const noAuthorities = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
  const thresholds = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
  try {
    new Verifier({ ...noAuthorities, publicKey }, thresholds).verify(entity);
    return true;
  } catch {
    return false;
  }
}

function statedDigest(payload: Buffer): string | undefined {
  const statement = parseJson(payload.toString('utf8'));
  if (!isRecord(statement) || statement['_type'] !== STATEMENT_TYPE) return undefined;
  if (statement['predicateType'] !== SIGNATURE_PREDICATE) return undefined;
  const subjects: unknown = statement['subject'];
  // One subject: a list would let one signature cover images that were never checked.
  const subject: unknown = Array.isArray(subjects) && subjects.length === 1 ? subjects[0] : undefined;
  const digests = isRecord(subject) ? subject['digest'] : undefined;
  const hex = isRecord(digests) ? digests['sha256'] : undefined;
  return typeof hex === 'string' ? `sha256:${hex}` : undefined;
}
