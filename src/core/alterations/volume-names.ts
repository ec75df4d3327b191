import type { DeploymentDraft } from '../contract/deployment-body.ts';
import type { Alteration } from '../model/announcement.ts';
import { parseAnchor } from '../model/secret-anchor.ts';
import { isRecord } from '../model/values.ts';

/** The id of the tenant's volume of that name; undefined: there is none. */
export type VolumeIdOf = (name: string) => string | undefined;

const WHY = 'a mount is stored by the id of its volume: the name may be used again';

/** As the alteration of a mount says it. */
export function storedAsId(volumeId: string): string {
  return `volumeId: ${volumeId}`;
}

/** A mount may name its volume; what cannot be resolved, or is named twice differently, is left for its rule. */
export function resolveVolumeNames(
  draft: Pick<DeploymentDraft, 'volumes' | 'secrets'>,
  volumeIdOf: VolumeIdOf,
): {
  readonly changed: Pick<DeploymentDraft, 'volumes' | 'secrets'>;
  readonly alterations: readonly Alteration[];
} {
  const alterations: Alteration[] = [];
  const volumes = draft.volumes?.map((mount, index) => {
    const name = isRecord(mount) ? mount['volume'] : undefined;
    const volumeId = typeof name === 'string' ? volumeIdOf(name) : undefined;
    if (!isRecord(mount) || typeof name !== 'string' || volumeId === undefined) return mount;
    const { volume: _name, ...rest } = mount;
    if (rest['volumeId'] !== undefined && rest['volumeId'] !== volumeId) return mount;
    alterations.push({
      field: `volumes[${index}].volume`,
      from: name,
      to: storedAsId(volumeId),
      why: WHY,
    });
    return { ...rest, volumeId };
  });
  const secrets = draft.secrets?.map((entry, index) => {
    const parsed = parseAnchor(entry.anchor ?? '');
    const volumeId = parsed?.kind === 'volume' ? volumeIdOf(parsed.volumeId) : undefined;
    if (entry.anchor === undefined || volumeId === undefined) return entry;
    const to = `volume(${volumeId})`;
    alterations.push({ field: `secrets[${index}].anchor`, from: entry.anchor, to, why: WHY });
    return { ...entry, anchor: to };
  });
  return { changed: { ...(volumes && { volumes }), ...(secrets && { secrets }) }, alterations };
}
