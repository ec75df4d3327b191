/**
 * Secret fields as a client sent them: the body decoder has checked JSON types, nothing else. `values` and `generate` exist
 * on drafts only; a stored `SecretReference` has no place for them (spec 2.4).
 */
export interface GenerateDraft {
  readonly keys?: readonly string[];
  readonly bytes?: number;
  readonly encoding?: string;
  readonly length?: number;
  readonly charset?: string;
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

/** The fields of a deployment (or job) draft that the secret rules look at. */
export interface SecretBearingDraft {
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretDraft[];
  readonly composedEnvironment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly { readonly volumeId?: string }[];
}

/** Body of `PUT /api/v1/secrets/{namespace}/{name}`; also the material of a rotation. */
export interface SecretWriteDraft {
  readonly values?: Readonly<Record<string, string>>;
  readonly generate?: GenerateDraft;
  readonly anchor?: string;
}
