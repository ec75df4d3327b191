import { draftOfBody } from '../../../core/contract/deployment-merge.ts';
import { specOfDraft } from '../../../core/contract/deployment-spec.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../../core/model/deployment.ts';
import type { ScalingPolicy } from '../../../core/model/scaling.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { KNOWN_SOURCES } from '../../../core/rules/attachment-facts.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import type { Stored } from '../../store/collection.ts';
import type { Admission, Attempt, Caller } from '../admission.ts';
import { admitDraft, readDeployment } from '../deployments/deployment-draft.ts';
import { attemptDeploymentWrite } from '../deployments/deployment-write.ts';

export interface Readmission {
  /** A whole spec as it was stored once: what it does not hold is cleared, not kept. */
  readonly spec: DeploymentSpec;
  /** What its image was then; absent: not known, and what it is now is asked. */
  readonly wantedDigest?: string;
  /** What it replaces; absent: the deployment is created. */
  readonly previous: Stored<DeploymentRecord> | undefined;
  readonly change: 'rolled-back' | 'restored' | 'updated';
  readonly dryRun: boolean;
  /** The plan that the caller was shown. */
  readonly plan?: string;
  /** Field of the request that chose the spec. */
  readonly chosenBy: 'version' | 'id' | 'name';
  readonly details: Readonly<Record<string, unknown>>;
  readonly warnings?: readonly Warning[];
  readonly policy?: ScalingPolicy | null;
  readonly endsCanary?: boolean;
}

/**
 * An old spec goes through the same rules as a new one: limits, regions, volumes, nodes and the registry may have changed
 * since it was accepted. The rotation counter stays that of the deployment, and that is announced.
 */
export async function readmitSpec(
  admission: Admission,
  caller: Caller,
  readmission: Readmission & { readonly previous: Stored<DeploymentRecord> },
): Promise<Attempt<typeof DEPLOYMENTS.update>>;
export async function readmitSpec(
  admission: Admission,
  caller: Caller,
  readmission: Readmission,
): Promise<Attempt<typeof DEPLOYMENTS.create>>;
export async function readmitSpec(
  admission: Admission,
  caller: Caller,
  { spec, previous, change, dryRun, chosenBy, details, warnings = [], ...said }: Readmission,
): Promise<Attempt<typeof DEPLOYMENTS.create>> {
  const sent = readDeployment(spec);
  if (isRejection(sent)) return sent;
  const secretsVersion = previous?.record.spec.secretsVersion ?? 0;
  const admitted = admitDraft(draftOfBody(sent), sent, { secretsVersion }, admission.limits);
  if (isRejection(admitted)) return admitted;
  const unchanged =
    previous !== undefined &&
    (said.wantedDigest ?? previous.record.imageDigest) === previous.record.imageDigest &&
    canonicalJson(specOfDraft(admitted.draft)) === canonicalJson(previous.record.spec);
  const nothing = {
    code: 'nothing_changed',
    field: chosenBy,
    why: `${spec.name} has this spec already; nothing but the history changed.`,
  };
  return attemptDeploymentWrite(admission, caller, {
    admitted: { ...admitted, isAnnounced: KNOWN_SOURCES },
    ...(previous === undefined ? {} : { previous }),
    change,
    dryRun,
    details,
    ...said,
    warnings: unchanged ? [...warnings, nothing] : warnings,
  });
}
