import type { Workload } from './deployment.ts';

/** Fields that do not concern what a container is made from: changing them must not restart one. */
export const NOT_HASHED = ['replicas', 'access', 'update'] as const;

/** What an instance runs: a spec and, where the registry could be asked, the bytes that its image stood for then. */
export interface SpecSnapshot extends Workload {
  readonly imageDigest?: string;
}

/** A part of a record that says which bytes its image is. */
export interface Pinned {
  readonly imageDigest?: string;
}

export function pinOf(imageDigest: string | undefined): Pinned {
  return imageDigest === undefined ? {} : { imageDigest };
}

export function snapshotOf({ spec, imageDigest }: { readonly spec: Workload } & Pinned): SpecSnapshot {
  return imageDigest === undefined ? spec : { ...spec, imageDigest };
}

export function specOfSnapshot({ imageDigest: _pinned, ...spec }: SpecSnapshot): Workload {
  return spec;
}

/**
 * The hash that names what instances run. The digest stays out of it, so that what learns its digest later is not
 * replaced; only where instances of the same spec run other bytes does it take part, and then they are replaced. A digest
 * that is not known now is that of the instances that still have this spec.
 */
export function runIdentity(
  spec: Workload,
  imageDigest: string | undefined,
  hashSpec: (spec: Workload) => string,
  keptOf: (specHash: string) => Pinned | undefined,
): { readonly specHash: string } & Pinned {
  const specHash = hashSpec(spec);
  const kept = keptOf(specHash)?.imageDigest;
  if (imageDigest === undefined) return { specHash, ...pinOf(kept) };
  if (kept === undefined || kept === imageDigest) return { specHash, imageDigest };
  return { specHash: hashSpec(snapshotOf({ spec, imageDigest })), imageDigest };
}
