import type { CredentialRotation } from '../../../core/model/credential.ts';
import { secretPathText } from '../../../core/model/secret-path.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Admission, Caller } from '../admission.ts';
import { type CredentialFacts, secretFailureRejection } from './credential-facts.ts';

function refused(expected: string, why: string): Rejection {
  return reject('rotation_transition_invalid', { field: 'phase', received: 'stage', expected, why });
}

/** What `stage` can see can never be delivered is refused now: the rollout would only fail, and hold the rotation. */
export async function undeliverableStage(
  { secrets: { store } }: Admission,
  { tenant: { tenantId } }: Caller,
  { path, record, versions }: CredentialFacts,
  begun: CredentialRotation | undefined,
): Promise<Rejection | undefined> {
  const text = secretPathText(path);
  if (record.rotation !== undefined) return undefined;
  if (begun === undefined) {
    const metadata = await store.metadata(tenantId, path);
    if (!metadata.ok) return secretFailureRejection(metadata, 'phase');
    if (!metadata.exists || metadata.keeps !== 1) return undefined;
    return refused(
      `at least two kept versions of ${text}`,
      `The secrets store keeps one version of ${text} (max_versions 1): version ${metadata.version} would be gone as soon as the next is written, and a rotation delivers both.`,
    );
  }
  const { next, previous } = begun;
  if (next === previous) return undefined;
  if (!versions.includes(previous))
    return refused(
      `version ${previous} of ${text} beside version ${next}`,
      `Version ${previous} of ${text} is in service, and the secrets store does not keep it any more.`,
    );
  const [document, inUse] = await Promise.all([
    store.read(tenantId, path, next),
    store.read(tenantId, path, previous),
  ]);
  if (!inUse.ok) return secretFailureRejection(inUse, 'phase');
  if (!document.ok && document.reason !== 'missing') return secretFailureRejection(document, 'phase');
  const { values } = inUse;
  const lost = document.ok ? [...values.keys()].find((key) => !document.values.has(key)) : undefined;
  if (document.ok && lost === undefined) return undefined;
  return refused(
    `a version of ${text} with the keys ${[...values.keys()].join(', ')}`,
    document.ok
      ? `Version ${next} of ${text} lacks the key ${lost}, which is in use.`
      : `Version ${next} of ${text} cannot be delivered: ${document.message}.`,
  );
}
