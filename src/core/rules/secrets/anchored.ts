import type { SecretBearingDraft } from '../../contract/secret-draft.ts';
import type { DeploymentSpec, SecretReference } from '../../model/deployment.ts';
import { parseAnchor } from '../../model/secret-anchor.ts';
import type { VolumeType } from '../../model/volume.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { received } from '../../rejections/redaction.ts';

type AnchoredSpec = Pick<DeploymentSpec, 'secrets' | 'volumes'>;

/** A volume that is not among the facts is refused by the volume rules. */
export function checkAnchorVolumeKept(
  draft: SecretBearingDraft,
  typeOf: ReadonlyMap<string, VolumeType>,
): Rejection | undefined {
  for (const [index, entry] of (draft.secrets ?? []).entries()) {
    const anchor = parseAnchor(entry.anchor ?? 'external');
    if (anchor?.kind === 'volume' && typeOf.get(anchor.volumeId) === 'tmpfs') {
      return reject('secret_anchor_volume_ephemeral', {
        field: `secrets[${index}].anchor`,
        received: received(entry.anchor),
        why: 'The volume is of type tmpfs and loses its content with the container, so that it cannot hold on to a credential.',
      });
    }
  }
  return undefined;
}

/**
 * While the volume stays mounted, the secret its content was made with stays too. Giving up the
 * anchor alone counts as dropping it, since the update after that could drop the secret unhindered.
 */
export function checkAnchoredKept(previous: AnchoredSpec, next: AnchoredSpec): Rejection | undefined {
  const mounted = new Set((next.volumes ?? []).map((mount) => mount.volumeId));
  for (const secret of previous.secrets) {
    const anchor = parseAnchor(secret.anchor);
    if (anchor?.kind !== 'volume' || !mounted.has(anchor.volumeId)) continue;
    const rejection = checkKept(secret, anchor.volumeId, next.secrets);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function checkKept(
  secret: SecretReference,
  volumeId: string,
  next: readonly SecretReference[],
): Rejection | undefined {
  const kept = next.some((entry) => entry.vault_path === secret.vault_path && entry.anchor === secret.anchor);
  if (kept) return undefined;
  const index = next.findIndex((entry) => entry.name === secret.name);
  const same = next[index];
  if (same !== undefined && same.vault_path !== secret.vault_path) {
    return reject('anchored_secret_repointed', {
      field: `secrets[${index}].vault_path`,
      received: received(same.vault_path),
      expected: `${secret.vault_path}; to change the material use the rotate operation, to release the anchor remove the volume ${volumeId} in the same update`,
      why: `The secret ${secret.name} is anchored to the volume ${volumeId}, which stays mounted.`,
    });
  }
  return reject('anchored_secret_dropped', {
    field: 'secrets',
    received: `(${next.length} entries)`,
    expected: `an entry with vault_path ${secret.vault_path} and anchor ${secret.anchor}, or the volume ${volumeId} removed in the same update`,
    why: `The secret ${secret.name} is anchored to the volume ${volumeId}, which stays mounted and cannot be opened without it.`,
  });
}
