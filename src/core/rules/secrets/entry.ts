import type { SecretBearingDraft, SecretDraft } from '../../contract/secret-draft.ts';
import { parseAnchor } from '../../model/secret-anchor.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { received, redacted } from '../../rejections/redaction.ts';
import { checkGenerate } from './generate.ts';
import { checkProvidedAndGenerated, checkValues } from './material.ts';
import { checkSplitWithin, checkVaultPath } from './path.ts';
import { entryPlace, firstRejection } from './place.ts';

type EntryRule = (
  entry: SecretDraft,
  index: number,
  draft: SecretBearingDraft,
  policy: SecretPolicy,
) => Rejection | undefined;

const SECRET_NAME = /^[A-Za-z0-9_]+$/;

const name: EntryRule = (entry, index) => {
  if (entry.name !== undefined && SECRET_NAME.test(entry.name)) return undefined;
  return reject('secret_name_invalid', {
    field: `secrets[${index}].name`,
    received: received(entry.name),
    why: 'The name is the prefix of the environment variables that deliver the secret.',
  });
};

const nameOnce: EntryRule = (entry, index, draft) => {
  const first = (draft.secrets ?? []).findIndex((other) => other.name === entry.name);
  if (first === index) return undefined;
  return reject('secret_name_duplicate', {
    field: `secrets[${index}].name`,
    received: received(entry.name),
    why: `secrets[${first}] has the same name, and both would deliver the same variables.`,
  });
};

const vaultPath: EntryRule = (entry, index, _draft, policy) =>
  checkVaultPath(entry.vault_path, `secrets[${index}].vault_path`, policy);

const split: EntryRule = (entry, index, draft) => checkSplitWithin(entry, index, draft);

const anchor: EntryRule = (entry, index) => checkAnchor(entry.anchor, `secrets[${index}].anchor`);

/** Absent is no refusal: the alteration to `external` is announced (decisions §4). */
export function checkAnchor(text: string | undefined, field: string): Rejection | undefined {
  if (text === undefined || parseAnchor(text) !== undefined) return undefined;
  return reject('secret_anchor_invalid', {
    field,
    received: received(text),
    why: 'The anchor says whether the credential may ever be minted again, and there are three answers.',
  });
}

/** Spec 2.4, anchor rule 1. Needs no facts: the spec itself declares its volumes. */
const anchorDeclared: EntryRule = (entry, index, draft) => {
  const parsed = parseAnchor(entry.anchor ?? 'external');
  if (parsed?.kind !== 'volume') return undefined;
  const declared = (draft.volumes ?? []).flatMap((mount) => mount.volumeId ?? []);
  if (declared.includes(parsed.volumeId)) return undefined;
  return reject('secret_anchor_volume_not_declared', {
    field: `secrets[${index}].anchor`,
    received: received(entry.anchor),
    expected:
      declared.length === 0
        ? 'a volume that the same spec mounts; this one mounts none'
        : `volume(<id>) with one of ${declared.join(', ')}`,
    why: 'A credential is tied to a volume by mounting both; this spec does not mount the named volume.',
  });
};

const rotation: EntryRule = (entry, index) => {
  if (entry.rotation === undefined || entry.rotation === 'restart') return undefined;
  return reject('secret_rotation_unsupported', {
    field: `secrets[${index}].rotation`,
    received: received(entry.rotation),
    why: 'The environment of a container is fixed when it is created, so that new material needs a new container.',
  });
};

const mountPath: EntryRule = (entry, index) => {
  if (entry.mount_path === undefined) return undefined;
  return reject('secret_mount_path_unsupported', {
    field: `secrets[${index}].mount_path`,
    received: redacted(entry.mount_path),
    why: 'Secrets are delivered as environment variables only.',
  });
};

const values: EntryRule = (entry, index, _draft, policy) =>
  checkValues(entry.values, entryPlace(index), policy);

const generate: EntryRule = (entry, index, _draft, policy) =>
  checkGenerate(entry.generate, entryPlace(index), policy);

const oneSource: EntryRule = (entry, index) =>
  checkProvidedAndGenerated(entry.values, entry.generate, entryPlace(index));

/** The order within one entry; every rule of an entry comes before the first rule of the next. */
export const entryRules: readonly EntryRule[] = [
  name,
  nameOnce,
  vaultPath,
  split,
  anchor,
  anchorDeclared,
  rotation,
  mountPath,
  values,
  generate,
  oneSource,
];

export function checkEntries(draft: SecretBearingDraft, policy: SecretPolicy): Rejection | undefined {
  for (const [index, entry] of (draft.secrets ?? []).entries()) {
    const rejection = firstRejection(entryRules, entry, index, draft, policy);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}
