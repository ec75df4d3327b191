import { generatedKeys, type SecretBearingDraft, type SecretDraft } from '../../contract/secret-draft.ts';
import { splitSecretPath } from '../../model/secret-path.ts';
import { parseTemplate } from '../../model/secret-template.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { memberField, received, redacted } from '../../rejections/redaction.ts';

/** Keys that stored documents are known to hold, by `<namespace>/<label>`. */
export type KnownKeys = ReadonlyMap<string, readonly string[]>;

/** What containers get beside a variable during a rotation (`secrets/delivery.ts`). */
const OVERLAP_SUFFIXES = ['_NEXT', '_PREVIOUS'] as const;

interface Claim {
  readonly variable: string;
  readonly field: string;
  /** What stands there, as far as it may be shown. */
  readonly shown: string;
  /** For the message: the other side of the collision. */
  readonly by: string;
}

/**
 * Two sources of one variable: `A`+`B_C` and `A_B`+`C` both deliver `A_B_C`. Only what is known on write is
 * compared; the delivery compares again and fails closed.
 */
export function checkCollisions(
  draft: SecretBearingDraft,
  known: KnownKeys = new Map(),
): Rejection | undefined {
  // Variables of one source have a name each.
  if ((draft.secrets ?? []).length === 0 && draft.composedEnvironment === undefined) return undefined;
  const owners = new Map<string, Claim>();
  for (const claim of claims(draft, known)) {
    const owner = owners.get(claim.variable);
    if (owner !== undefined && owner.by !== claim.by) return collision(claim, owner);
    owners.set(claim.variable, claim);
  }
  return undefined;
}

/**
 * The names that a rotation of these paths adds, against everything that the workload is given beside: when it is staged, and
 * when the workload is written while it takes part.
 */
export function checkStagedCollisions(
  spec: SecretBearingDraft,
  known: KnownKeys,
  staged: ReadonlySet<string>,
  asked: 'stage' | 'write' = 'stage',
): Rejection | undefined {
  const owners = new Map([...claims(spec, known)].map((claim) => [claim.variable, claim]));
  for (const { variable, by } of stagedClaims(spec, known, staged)) {
    const owner = owners.get(variable);
    if (owner !== undefined && owner.by !== by) {
      return reject('secret_environment_collision', {
        ...(asked === 'stage'
          ? { field: 'phase', received: 'stage' }
          : { field: owner.field, received: owner.shown }),
        expected: `no other source of ${variable} in ${spec.name ?? 'the deployment'}`,
        why: `During the rotation ${variable} is delivered by ${by}, and ${owner.by} delivers it already; one would hide the other.`,
      });
    }
    owners.set(variable, { variable, by, field: 'secrets', shown: '(a rotation)' });
  }
  return undefined;
}

function* stagedClaims(
  spec: SecretBearingDraft,
  known: KnownKeys,
  staged: ReadonlySet<string>,
): Generator<Pick<Claim, 'variable' | 'by'>> {
  const labels = new Set<string>();
  for (const entry of spec.secrets ?? []) {
    if (!staged.has(entry.vault_path ?? '')) continue;
    labels.add(splitSecretPath(entry.vault_path ?? '')?.label ?? '');
    for (const key of entryKeys(entry, known))
      for (const suffix of OVERLAP_SUFFIXES)
        yield { variable: `${entry.name}_${key}${suffix}`, by: `the rotation of ${entry.name}, key ${key}` };
  }
  for (const [variable, template] of Object.entries(spec.composedEnvironment ?? {})) {
    const parsed = parseTemplate(template);
    const isStaged =
      parsed.ok && parsed.parts.some((part) => typeof part !== 'string' && labels.has(part.resource));
    for (const suffix of isStaged ? OVERLAP_SUFFIXES : [])
      yield { variable: `${variable}${suffix}`, by: `the rotation of what ${variable} is composed of` };
  }
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
