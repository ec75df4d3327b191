import { generatedKeys, type SecretBearingDraft, type SecretDraft } from '../../contract/secret-draft.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { memberField, received, redacted } from '../../rejections/redaction.ts';

/** Keys that stored documents are known to hold, by `<namespace>/<label>`. */
export type KnownKeys = ReadonlyMap<string, readonly string[]>;

interface Claim {
  readonly variable: string;
  readonly field: string;
  /** What stands there, as far as it may be shown. */
  readonly shown: string;
  /** In words, for the other side of the collision. */
  readonly by: string;
}

/**
 * Two sources of one variable (decisions §4): `A`+`B_C` and `A_B`+`C` both deliver `A_B_C`. Only what is known on write is
 * compared; the delivery compares again and fails closed.
 */
export function checkCollisions(
  draft: SecretBearingDraft,
  known: KnownKeys = new Map(),
): Rejection | undefined {
  const owners = new Map<string, Claim>();
  for (const claim of claims(draft, known)) {
    const owner = owners.get(claim.variable);
    if (owner !== undefined && owner.by !== claim.by) return collision(claim, owner);
    owners.set(claim.variable, claim);
  }
  return undefined;
}

function collision(claim: Claim, owner: Claim): Rejection {
  return reject('secret_environment_collision', {
    field: claim.field,
    received: claim.shown,
    why: `The variable ${claim.variable} is delivered by ${owner.by} and by ${claim.by}; one would hide the other.`,
  });
}

function* claims(draft: SecretBearingDraft, known: KnownKeys): Generator<Claim> {
  for (const [variable, value] of Object.entries(draft.environment ?? {})) {
    const field = memberField('environment', variable);
    yield { variable, field, shown: redacted(value), by: 'environment' };
  }
  for (const [index, entry] of (draft.secrets ?? []).entries()) {
    for (const key of entryKeys(entry, known)) {
      const by = `secrets[${index}] with the key ${key}`;
      const [field, shown] = [`secrets[${index}].name`, received(entry.name)];
      yield { variable: `${entry.name ?? ''}_${key}`, field, shown, by };
    }
  }
  for (const [variable, template] of Object.entries(draft.composedEnvironment ?? {})) {
    const field = memberField('composedEnvironment', variable);
    yield { variable, field, shown: redacted(template), by: 'composedEnvironment' };
  }
}

function entryKeys(entry: SecretDraft, known: KnownKeys): ReadonlySet<string> {
  return new Set([
    ...(known.get(entry.vault_path ?? '') ?? []),
    ...Object.keys(entry.values ?? {}),
    ...generatedKeys(entry.generate).keys(),
  ]);
}
