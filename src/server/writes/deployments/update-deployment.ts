import { volumeIdIn } from '../../reads/volume.ts';
import type { SentDeployment } from '../../../core/contract/deployment-body.ts';
import { mergeDraft } from '../../../core/contract/deployment-merge.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { announcedBy } from '../../../core/rules/attachment-facts.ts';
import { nameRule } from '../../../core/rules/name.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import {
  type Admission,
  type Caller,
  commitAttempts,
  type Outcome,
  type WriteOptions,
} from '../admission.ts';
import { admitDraft, readDeployment } from './deployment-draft.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { attemptDeploymentWrite, deploymentNotFound } from './deployment-write.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

export interface UpdateOptions extends WriteOptions {
  readonly ifMatch?: IfMatch;
}

/** `name` in the path wins the look-up; a body that names another deployment is a mistake, not a rename. */
function selectedName(pathName: string | undefined, { name }: SentDeployment): string | Rejection {
  // A name that was reserved later still names the deployment that has it.
  return pathName ?? nameRule(name, []) ?? name ?? '';
}

export async function updateDeployment(
  admission: Admission,
  caller: Caller,
  pathName: string | undefined,
  body: unknown,
  options: UpdateOptions,
): Promise<Outcome<typeof DEPLOYMENTS.update>> {
  const sent = readDeployment(body);
  if (isRejection(sent)) return sent;
  const selected = selectedName(pathName, sent);
  if (isRejection(selected)) return selected;
  return commitAttempts(admission, caller, async () => {
    const { stored, field } = findDeployment(caller.tenant, selected);
    if (stored === undefined) {
      const reserved =
        pathName === undefined ? nameRule(selected, admission.limits.reservedNames) : undefined;
      return reserved ?? deploymentNotFound(field, selected);
    }
    const { name } = stored.record.spec;
    if (sent.name !== undefined && sent.name !== null && sent.name !== name) {
      return reject('name_mismatch', {
        field: 'name',
        received: received(sent.name),
        expected: name,
        why: 'The body names another deployment than the path; a deployment cannot be renamed.',
      });
    }
    const outdated = revisionRejection(options.ifMatch, stored.modRevision);
    if (outdated) return outdated;
    // `null` clears a field to its default; a name has none, so it stays.
    const { name: _cleared, ...rest } = sent;
    const admitted = admitDraft(
      mergeDraft(stored.record.spec, rest),
      sent,
      {
        secretsVersion: stored.record.spec.secretsVersion,
        spec: stored.record.spec,
        view: storedDeploymentView(admission, caller.tenant, stored),
      },
      admission.limits,
      volumeIdIn(caller.tenant),
    );
    if (isRejection(admitted)) return admitted;
    return attemptDeploymentWrite(admission, caller, {
      admitted: { ...admitted, isAnnounced: announcedBy(options.alongside ?? [], options.dryRun) },
      previous: stored,
      change: 'updated',
      dryRun: options.dryRun,
      ...(options.plan !== undefined && { plan: options.plan }),
    });
  });
}
