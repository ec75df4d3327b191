import { ownFiles } from '../own-files.ts';
import { isRecord, parseJson } from '../../core/model/values.ts';
import { type ImageReference, isDigest } from '../../core/model/image-reference.ts';
import { errorCodes } from './manifest.ts';
import type { RegistrySession } from './session.ts';
import type { ImageSignature } from './signature.ts';

/** What a hostile registry can make us read for one image: sixteen signatures of bounded size, within the time of the session. */
const MAX_SIGNATURES = 16;
const MAX_MANIFEST_BYTES = 256 * 1024;
const MAX_SIGNATURE_BYTES = 128 * 1024;

const SIMPLE_LAYER = 'application/vnd.dev.cosign.simplesigning.v1+json';
const SIMPLE_ANNOTATION = 'dev.cosignproject.cosign/signature';
const EMPTY_TYPE = 'application/vnd.oci.empty.v1+json';
const BUNDLE_LAYER = 'application/vnd.dev.sigstore.bundle.v';

interface Layer {
  readonly type: string;
  readonly digest: string;
  readonly signature: string;
}

/** The registry did not say what it has, so nothing can be said of the image. */
export class SignaturesUnreadableError extends Error {
  override readonly name = 'SignaturesUnreadableError';
}

/**
 * Everything that the registry has as signatures of the digest: where cosign puts them (`sha256-….sig`), and what refers to the image, by the
 * registry's own list or by the tag that stands for it in registries without one.
 */
export async function readSignatures(
  session: RegistrySession,
  { repository }: ImageReference,
  digest: string,
): Promise<readonly ImageSignature[]> {
  const read = async (path: string, maxBytes: number): Promise<Buffer | undefined> => {
    const answer = await session.request('GET', `/v2/${repository}/${path}`, { maxBytes });
    if (!answer.ok) throw new SignaturesUnreadableError(answer.obstacle);
    if (answer.status === 200) return answer.body;
    if (answer.status === 404 || (answer.status < 500 && errorCodes(answer.body).length > 0))
      return undefined;
    throw new SignaturesUnreadableError(`status ${answer.status}`);
  };
  const manifest = async (revision: string) =>
    parseJson((await read(`manifests/${revision}`, MAX_MANIFEST_BYTES))?.toString('utf8') ?? '');
  const tag = digest.replace(':', '-');
  const beside = layersOf(await manifest(`${tag}.sig`));
  const listed = await read(`referrers/${digest}`, MAX_MANIFEST_BYTES);
  const index = listed === undefined ? await manifest(tag) : parseJson(listed.toString('utf8'));
  const layers = [...beside];
  for (const one of referrersOf(index)) layers.push(...layersOf(await manifest(one)));
  const signatures: ImageSignature[] = [];
  for (const layer of layers.slice(-MAX_SIGNATURES)) {
    const blob = await read(`blobs/${layer.digest}`, MAX_SIGNATURE_BYTES);
    const signature = blob && (await signatureOf(layer, blob));
    if (signature) signatures.push(signature);
  }
  return signatures;
}

/** Most control planes never see one. */
const reader = ownFiles.loader('what reads signatures of images', () => import('./signature.ts'));

async function signatureOf(layer: Layer, blob: Buffer): Promise<ImageSignature | undefined> {
  const { bundleSignature, simpleSignature } = await reader();
  return layer.type === SIMPLE_LAYER ? simpleSignature(blob, layer.signature) : bundleSignature(blob);
}

/** Newest last, as cosign appends them. */
function layersOf(manifest: unknown): readonly Layer[] {
  const layers = isRecord(manifest) ? manifest['layers'] : undefined;
  if (!Array.isArray(layers)) return [];
  return layers.slice(-MAX_SIGNATURES).flatMap((entry: unknown) => {
    if (!isRecord(entry)) return [];
    const { mediaType: type, digest, annotations } = entry;
    if (typeof type !== 'string' || typeof digest !== 'string' || !isDigest(digest)) return [];
    const signature = isRecord(annotations) ? annotations[SIMPLE_ANNOTATION] : undefined;
    if (type === SIMPLE_LAYER && typeof signature === 'string') return [{ type, digest, signature }];
    return type.startsWith(BUNDLE_LAYER) ? [{ type, digest, signature: '' }] : [];
  });
}

/** Those that may be signatures; other things that refer to an image are many and large. */
function referrersOf(index: unknown): readonly string[] {
  const manifests = isRecord(index) ? index['manifests'] : undefined;
  if (!Array.isArray(manifests)) return [];
  // Where cosign keeps the list itself, it names the type of the empty configuration instead of the artifact's.
  const isSignature = (type: unknown): boolean =>
    type === undefined ||
    type === EMPTY_TYPE ||
    (typeof type === 'string' && (type.startsWith(BUNDLE_LAYER) || type.includes('cosign')));
  return manifests
    .flatMap((entry: unknown) => {
      if (!isRecord(entry) || !isSignature(entry['artifactType'])) return [];
      const { digest } = entry;
      return typeof digest === 'string' && isDigest(digest) ? [digest] : [];
    })
    .slice(-MAX_SIGNATURES);
}
