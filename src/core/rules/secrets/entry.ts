import { firstRejection } from '../rule.ts';
import type { SecretBearingDraft, SecretDraft } from '../../contract/secret-draft.ts';
import { parseAnchor } from '../../model/secret-anchor.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { splitSecretPath } from '../../model/secret-path.ts';
import { isRecord } from '../../model/values.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { received, redacted } from '../../rejections/redaction.ts';
import { checkGenerate } from './generate.ts';
import { checkProvidedAndGenerated, checkValues } from './material.ts';
import { checkSplitWithin, checkVaultPath } from './path.ts';
import { entryPlace } from './place.ts';

/** What the rules of one entry ask about the others; made once, because a body holds many thousands of entries. */
interface Siblings {
  /** Index of the first entry of each name. */
  readonly firstOfName: ReadonlyMap<string | undefined, number>;
  /** Namespace of the first entry of each label. */
  readonly namespaceOfLabel: ReadonlyMap<string, string>;
  readonly declaredVolumes: ReadonlySet<string>;
}

type EntryRule = (
  entry: SecretDraft,
  index: number,
  siblings: Siblings,
  policy: SecretPolicy,
) => Rejection | undefined;

const SECRET_NAME = /^[A-Za-z0-9_]+$/;
const MAX_NAMED_VOLUMES = 20;
const MAX_VOLUME_ID_LENGTH = 128;

const name: EntryRule = (entry, index) => {
  if (entry.name !== undefined && SECRET_NAME.test(entry.name)) return undefined;
  return reject('secret_name_invalid', {
    field: `secrets[${index}].name`,
    received: received(entry.name),
    why: 'The name is the prefix of the environment variables that deliver the secret.',
  });
};

const nameOnce: EntryRule = (entry, index, { firstOfName }) => {
  const first = firstOfName.get(entry.name);
  if (first === index) return undefined;
  return reject('secret_name_duplicate', {
    field: `secrets[${index}].name`,
    received: received(entry.name),
    why: `secrets[${first}] has the same name, and both would deliver the same variables.`,
  });
};

const vaultPath: EntryRule = (entry, index, _siblings, policy) =>
  checkVaultPath(entry.vault_path, `secrets[${index}].vault_path`, policy);

const split: EntryRule = (entry, index, { namespaceOfLabel }) =>
  checkSplitWithin(entry, index, namespaceOfLabel);

const anchor: EntryRule = (entry, index) => checkAnchor(entry.anchor, `secrets[${index}].anchor`);

/** Absent is no refusal: the alteration to `external` is announced. */
export function checkAnchor(text: string | undefined, field: string): Rejection | undefined {
  if (text === undefined || parseAnchor(text) !== undefined) return undefined;
  return reject('secret_anchor_invalid', {
    field,
    received: received(text),
    why: 'The anchor says whether the credential may ever be minted again, and there are three answers.',
  });
}

/** Needs no facts: the spec itself declares its volumes. */
const anchorDeclared: EntryRule = (entry, index, { declaredVolumes }) => {
  const parsed = parseAnchor(entry.anchor ?? 'external');
  if (parsed?.kind !== 'volume' || declaredVolumes.has(parsed.volumeId)) return undefined;
  const declared = [...declaredVolumes].slice(0, MAX_NAMED_VOLUMES);
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

const values: EntryRule = (entry, index, _siblings, policy) =>
  checkValues(entry.values, entryPlace(index), policy);

const generate: EntryRule = (entry, index, _siblings, policy) =>
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

/** Before the entries themselves: none of them is checked when there are too many. */
export function checkEntryCount(
  { secrets = [] }: SecretBearingDraft,
  { entriesMax }: SecretPolicy,
): Rejection | undefined {
  if (secrets.length <= entriesMax) return undefined;
  return reject('secret_entries_too_many', {
    field: 'secrets',
    received: `${secrets.length} entries`,
    expected: `at most ${entriesMax} entries`,
    why: 'A container waits until every entry was read from the secrets store.',
  });
}

/** The shape of a mount is for the rule of volumes, which comes later: here it may still be anything. */
function declaredVolumes(mounts: readonly unknown[]): ReadonlySet<string> {
  return new Set(
    mounts.flatMap((mount) => {
      const id = isRecord(mount) ? mount['volumeId'] : undefined;
      return typeof id === 'string' && id.length <= MAX_VOLUME_ID_LENGTH ? [id] : [];
    }),
  );
}

function siblingsOf({ secrets = [], volumes = [] }: SecretBearingDraft): Siblings {
  const firstOfName = new Map<string | undefined, number>();
  const namespaceOfLabel = new Map<string, string>();
  for (const [index, { name: text, vault_path }] of secrets.entries()) {
    if (!firstOfName.has(text)) firstOfName.set(text, index);
    const path = splitSecretPath(vault_path ?? '');
    if (path && !namespaceOfLabel.has(path.label)) namespaceOfLabel.set(path.label, path.namespace);
  }
  return { firstOfName, namespaceOfLabel, declaredVolumes: declaredVolumes(volumes) };
}

function checkEach(
  rules: readonly EntryRule[],
  draft: SecretBearingDraft,
  policy: SecretPolicy,
): Rejection | undefined {
  const { secrets = [] } = draft;
  if (secrets.length === 0) return undefined;
  const siblings = siblingsOf(draft);
  for (const [index, entry] of secrets.entries()) {
    const rejection = firstRejection(rules, entry, index, siblings, policy);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

export function checkEntries(draft: SecretBearingDraft, policy: SecretPolicy): Rejection | undefined {
  return checkEach(entryRules, draft, policy);
}

export function checkAnchorsDeclared(draft: SecretBearingDraft, policy: SecretPolicy): Rejection | undefined {
  return checkEach([anchorDeclared], draft, policy);
}
