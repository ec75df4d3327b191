import { type ImageReference, parseImageReference } from './image-reference.ts';

/** Images that have to be signed, and by whom. */
export interface SignatureDemand {
  /** `*`, a repository in full (`registry.example.com/acme/web`), or everything below a place (`registry.example.com/acme/*`). */
  readonly images: string;
  /** Public keys in PEM; a signature of one of them will do. */
  readonly keys: readonly string[];
}

/** A tenant's own rules about what may run. Every demand that covers an image has to be met: adding one never weakens another. */
export interface ImagePolicy {
  readonly signatures: readonly SignatureDemand[];
}

export const MAX_DEMANDS = 32;
export const MAX_KEYS = 8;
export const MAX_KEY_CHARACTERS = 2048;

const EVERYTHING = '*';
const BELOW = '/*';
const USUAL_PORT = ':443';

/** One spelling per repository: the usual port names no other registry. */
export function repositoryName({ registry, repository }: ImageReference): string {
  const host = registry.endsWith(USUAL_PORT) ? registry.slice(0, -USUAL_PORT.length) : registry;
  return `${host}/${repository}`;
}

export function demandsFor(
  policy: ImagePolicy | undefined,
  reference: ImageReference,
): readonly SignatureDemand[] {
  const name = repositoryName(reference);
  return (policy?.signatures ?? []).filter(({ images }) => covers(images, name));
}

function covers(images: string, name: string): boolean {
  if (images === EVERYTHING) return true;
  return images.endsWith(BELOW) ? name.startsWith(images.slice(0, -1)) : images === name;
}

/** The pattern in the spelling that images are compared in; undefined: it is none. */
export function fullPattern(images: string): string | undefined {
  if (images === EVERYTHING) return images;
  const isPlace = images.endsWith(BELOW);
  const name = isPlace ? `${images.slice(0, -1)}x` : images;
  // Short names are spelled out by the engine's rule, which a place cannot follow: its host has to be one.
  if (name.includes('@') || name.lastIndexOf(':') > name.lastIndexOf('/')) return undefined;
  const parsed = parseImageReference(`${name}:1`);
  if (!parsed.ok) return undefined;
  const full = repositoryName(parsed.reference);
  return isPlace ? `${full.slice(0, -1)}*` : full;
}
