import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { pushArtifact, type Registry } from './registry.ts';

/** Signatures in the two forms that cosign stores, made without it, as cosign 2.6 was seen to write them. */

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly pem: string;
}

export function signingKey(kind: 'ec' | 'ed25519' | 'rsa' = 'ec'): SigningKey {
  const pair =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { privateKey: pair.privateKey, pem };
}

function signed(data: Buffer, { privateKey }: SigningKey): string {
  const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return sign(algorithm, data, privateKey).toString('base64');
}

const SIMPLE = 'application/vnd.dev.cosign.simplesigning.v1+json';
const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

export interface Signing {
  readonly repository: string;
  /** Where the signature is put: beside this image. */
  readonly beside: string;
  /** What the signature is of; absent: that image. */
  readonly of?: string;
  readonly key: SigningKey;
}

/** As `cosign sign --key` of version 2: a tag beside the image. */
export async function signSimply(registry: Registry, signing: Signing): Promise<void> {
  const payload = Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': `${registry.host}/${signing.repository}` },
        image: { 'docker-manifest-digest': signing.of ?? signing.beside },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  );
  await pushArtifact(registry, signing.repository, {
    revision: `${signing.beside.replace(':', '-')}.sig`,
    layers: [
      {
        type: SIMPLE,
        data: payload,
        annotations: { 'dev.cosignproject.cosign/signature': signed(payload, signing.key) },
      },
    ],
  });
}

/** As `cosign sign --key` of version 3: a bundle that refers to the image, listed under the tag that stands for such a list. */
export async function signWithBundle(
  registry: Registry,
  signing: Signing & { readonly predicate?: string },
): Promise<void> {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256: (signing.of ?? signing.beside).slice('sha256:'.length) } }],
    predicateType: signing.predicate ?? 'https://sigstore.dev/cosign/sign/v1',
    predicate: {},
  };
  const payload = Buffer.from(JSON.stringify(statement));
  const type = 'application/vnd.in-toto+json';
  const encoded = Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} ${payload.toString()}`);
  const bundle = {
    mediaType: BUNDLE,
    verificationMaterial: {
      publicKey: { hint: createHash('sha256').update(signing.key.pem).digest('base64') },
    },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType: type,
      signatures: [{ sig: signed(encoded, signing.key) }],
    },
  };
  const data = Buffer.from(JSON.stringify(bundle));
  const made = await pushArtifact(registry, signing.repository, {
    artifactType: BUNDLE,
    layers: [{ type: BUNDLE, data }],
  });
  await pushArtifact(registry, signing.repository, {
    revision: signing.beside.replace(':', '-'),
    manifests: [{ ...made, artifactType: 'application/vnd.oci.empty.v1+json' }],
  });
}
