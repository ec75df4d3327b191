import { pinnedImage } from '../../../core/model/image-reference.ts';
import type { SeenImage } from '../../../core/model/deployment.ts';
import { ownerOf } from '../../../core/model/owner.ts';
import type { AskImages, ImagesNeeded } from '../../../core/protocol/agent-protocol.ts';
import { segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

/**
 * Which of these images a tenant may still want on its nodes: what is deployed, tried or run by a job, what instances run, and what its
 * deployments can be rolled back to. An image that runs by its tag is needed as long as any workload is of its repository: which
 * versions had which tag is not in the view.
 */
export function neededImages(
  tenant: TenantStore,
  { images }: Pick<AskImages, 'images'>,
  keptImages: number,
): ImagesNeeded['needed'] {
  const why = new Map<string, string>();
  const repositories = new Map<string, string>();
  const need = (image: string, digest: string | undefined, reason: string): void => {
    const pinned = pinnedImage(image, digest);
    if (!why.has(pinned)) why.set(pinned, reason);
    if (!why.has(image)) why.set(image, reason);
    repositories.set(repositoryOf(image), reason);
  };
  for (const { record } of tenant.list('deployments')) {
    const { spec, imageDigest, seenImages = [] } = record;
    need(spec.image, imageDigest, `deployment ${spec.name} runs it`);
    for (const { image, digest } of earlier(seenImages, imageDigest).slice(0, keptImages))
      need(image, digest, `deployment ${spec.name} may be rolled back to it`);
  }
  for (const { record } of tenant.list('canaries'))
    need(record.spec.image, record.imageDigest, `the canary of ${record.spec.name} runs it`);
  for (const { record } of tenant.list('jobs'))
    need(record.spec.image, record.imageDigest, `job ${record.spec.name} runs it`);
  for (const { id, record } of tenant.list('specs')) {
    const owner = ownerOf(segmentsOf('specs', id)[0]);
    need(record.image, record.imageDigest, `instances of ${owner.kind} ${owner.name} run it`);
  }
  return images.flatMap((image) => {
    const reason =
      why.get(image) ?? (image.includes('@') ? undefined : repositories.get(repositoryOf(image)));
    return reason === undefined ? [] : [{ image, why: reason }];
  });
}

/** Those before the present one, newest first. */
function earlier(seen: readonly SeenImage[], present: string | undefined): readonly SeenImage[] {
  return seen.filter(({ digest }) => digest !== present);
}

function repositoryOf(image: string): string {
  const bare = image.split('@')[0] ?? '';
  const colon = bare.indexOf(':', bare.lastIndexOf('/') + 1);
  return colon === -1 ? bare : bare.slice(0, colon);
}
