import type { MintPolicy } from '../model/credential.ts';

/**
 * Secret fields as a client sent them: the body decoder has checked JSON types, nothing else. `values` and `generate` exist
 * on drafts only; a stored `SecretReference` has no place for them.
 */
export interface GenerateDraft extends Omit<MintPolicy, 'alternate'> {
  readonly keys?: readonly string[];
}

export type KeyGenerateDraft = MintPolicy;

const BLOCK_FIELDS: ReadonlySet<string> = new Set(['keys', 'bytes', 'encoding', 'length', 'charset']);

/** What the block says of single keys, under their names; the body decoder has let objects pass there only. */
export function singleKeys(block: GenerateDraft): readonly (readonly [string, KeyGenerateDraft])[] {
  return Object.entries(block).filter(([key]) => !BLOCK_FIELDS.has(key));
}

/** Does the block describe anything that is not under the name of a key? */
export function hasKeyList(block: GenerateDraft): boolean {
  return Object.keys(block).some((key) => BLOCK_FIELDS.has(key));
}

/** Every key that the block makes, with how: those listed in `keys` in the same way, others each in its own. */
export function generatedKeys(block: GenerateDraft | undefined): ReadonlyMap<string, KeyGenerateDraft> {
  if (block === undefined) return new Map();
  const { bytes, encoding, length, charset } = block;
  const shared = {
    ...(bytes !== undefined && { bytes }),
    ...(encoding !== undefined && { encoding }),
    ...(length !== undefined && { length }),
    ...(charset !== undefined && { charset }),
  };
  return new Map([...(block.keys ?? []).map((key) => [key, shared] as const), ...singleKeys(block)]);
}

export interface SecretDraft {
  readonly name?: string;
  readonly vault_path?: string;
  readonly anchor?: string;
  readonly rotation?: string;
  /** Of any type, because any value is refused. */
  readonly mount_path?: unknown;
  readonly values?: Readonly<Record<string, string>>;
  readonly generate?: GenerateDraft;
}

/** The fields of a deployment (or job) draft that the secret rules read. */
export interface SecretBearingDraft {
  readonly name?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretDraft[];
  readonly composedEnvironment?: Readonly<Record<string, string>>;
  /** Their shape is for the rule of volumes, which comes later. */
  readonly volumes?: readonly unknown[];
}

/** Body of `PUT /api/v1/secrets/{namespace}/{name}`; also the material of a rotation. */
export interface SecretWriteDraft {
  readonly values?: Readonly<Record<string, string>>;
  readonly generate?: GenerateDraft;
  readonly anchor?: string;
}
