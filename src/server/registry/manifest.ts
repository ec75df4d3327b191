import { createHash } from 'node:crypto';
import { isRecord, parseJson } from '../../core/model/values.ts';
import { isDigest } from '../../core/model/image-reference.ts';

const INDEX_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]);
const MANIFEST_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);

export const ACCEPT = [...INDEX_TYPES, ...MANIFEST_TYPES].join(', ');

export type ManifestKind = 'index' | 'image' | 'unknown';

export function kindOfType(contentType: string | undefined): ManifestKind {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (INDEX_TYPES.has(type)) return 'index';
  return MANIFEST_TYPES.has(type) ? 'image' : 'unknown';
}

export interface IndexChild {
  readonly digest: string;
  /** `os/architecture[/variant]`; absent if the index does not say, and then it may be for any. */
  readonly platform?: string;
}

export type Manifest =
  | { readonly kind: 'image' }
  | { readonly kind: 'index'; readonly children: readonly IndexChild[] };

/** Undefined: the body is no manifest, so whatever answered is no registry. Foreign URLs in it are never read. */
export function readManifest(body: Buffer): Manifest | undefined {
  const document = parseJson(body.toString('utf8'));
  if (!isRecord(document) || document['schemaVersion'] !== 2) return undefined;
  const { manifests, config, layers } = document;
  if (Array.isArray(manifests))
    return { kind: 'index', children: manifests.flatMap((entry) => readChild(entry)) };
  return isRecord(config) && Array.isArray(layers) ? { kind: 'image' } : undefined;
}

export function digestOf(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}

/** A variant is compared only when both sides name one: arm64 and arm64/v8 are the same machine. */
export function runsOn(child: IndexChild, wanted: string): boolean {
  if (child.platform === undefined) return true;
  const [os, architecture, variant] = child.platform.split('/');
  const [wantedOs, wantedArchitecture, wantedVariant] = wanted.split('/');
  if (os !== wantedOs || architecture !== wantedArchitecture) return false;
  return variant === undefined || wantedVariant === undefined || variant === wantedVariant;
}

/** The codes of an error answer of the distribution API; empty if the body is none. */
export function errorCodes(body: Buffer): readonly string[] {
  const document = parseJson(body.toString('utf8'));
  if (!isRecord(document) || !Array.isArray(document['errors'])) return [];
  return document['errors'].flatMap((entry) =>
    isRecord(entry) && typeof entry['code'] === 'string' ? [entry['code']] : [],
  );
}

function readChild(entry: unknown): readonly IndexChild[] {
  if (!isRecord(entry) || typeof entry['digest'] !== 'string' || !isDigest(entry['digest'])) return [];
  const { digest, platform } = entry;
  if (!isRecord(platform)) return [{ digest }];
  const { os, architecture, variant } = platform;
  if (typeof os !== 'string' || typeof architecture !== 'string') return [];
  const suffix = typeof variant === 'string' && variant !== '' ? `/${variant}` : '';
  return [{ digest, platform: `${os}/${architecture}${suffix}` }];
}
