import { parseImageReference } from '../../core/model/image-reference.ts';
import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Admission, Caller } from './admission.ts';

/** The three outcomes of spec 7.1: confirmed missing, credential store away, merely unreachable. */
export async function imageAnswer(
  admission: Admission,
  caller: Caller,
  spec: Pick<DeploymentSpec, 'image'>,
  before: Pick<DeploymentSpec, 'image'> | undefined,
): Promise<readonly Warning[] | Rejection> {
  // An unchanged image was checked when it was written; scaling must not depend on a registry.
  if (before?.image === spec.image) return [];
  const parsed = parseImageReference(spec.image);
  if (!parsed.ok) throw new Error('the image rule has already established that the reference can be parsed');
  const platforms = [...new Set(caller.tenant.list('nodes').map(({ record }) => record.platform))].sort();
  const outcome = await admission.imageCheck.check({
    tenantId: caller.tenant.tenantId,
    reference: parsed.reference,
    platforms,
  });
  switch (outcome.kind) {
    case 'found':
      return [];
    case 'missing':
      return reject('image_not_found', { field: 'image', received: received(spec.image), why: outcome.why });
    case 'credential_store_unavailable':
      return {
        ...reject('registry_credential_store_unavailable', {
          field: 'image',
          received: received(spec.image),
          why: outcome.why,
        }),
        ...(outcome.denied === true ? {} : { retryAfterSeconds: 5 }),
      };
    case 'unreachable':
      return [{ code: 'registry_unreachable', field: 'image', why: outcome.why }];
  }
}
