import { volumeIdIn } from '../../reads/volume.ts';
import { draftOfBody } from '../../../core/contract/deployment-merge.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { announcedBy } from '../../../core/rules/attachment-facts.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import {
  type Admission,
  type Caller,
  commitAttempts,
  type Outcome,
  type WriteOptions,
} from '../admission.ts';
import { admitDraft, existingRejection, readDeployment } from './deployment-draft.ts';
import { attemptDeploymentWrite } from './deployment-write.ts';

export async function createDeployment(
  admission: Admission,
  caller: Caller,
  body: unknown,
  { dryRun, alongside = [], plan }: WriteOptions,
): Promise<Outcome<typeof DEPLOYMENTS.create>> {
  const sent = readDeployment(body);
  if (isRejection(sent)) return sent;
  const admitted = admitDraft(
    draftOfBody(sent),
    sent,
    { secretsVersion: 0 },
    admission.limits,
    volumeIdIn(caller.tenant),
  );
  if (isRejection(admitted)) return admitted;
  const name = admitted.draft.name ?? '';
  return commitAttempts(
    admission,
    caller,
    () =>
      existingRejection(caller, name) ??
      attemptDeploymentWrite(admission, caller, {
        admitted:
          alongside.length === 0 ? admitted : { ...admitted, isAnnounced: announcedBy(alongside, dryRun) },
        change: 'created',
        dryRun,
        ...(plan !== undefined && { plan }),
      }),
  );
}
