import { volumeIdIn } from '../../reads/volume.ts';
import type { deployment } from '../../../core/contract/answers/deployment.ts';
import type { Answer } from '../../../core/schema/shape.ts';
import type { CanaryDraft } from '../../../core/contract/canary-body.ts';
import type { SentDeployment } from '../../../core/contract/deployment-body.ts';
import { mergeDraft, removedEntries } from '../../../core/contract/deployment-merge.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import type { CanaryRecord } from '../../../core/model/canary.ts';
import { optional } from '../../../core/model/values.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import { KNOWN_SOURCES } from '../../../core/rules/attachment-facts.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../../core/model/deployment.ts';
import { pinOf, snapshotOf } from '../../../core/model/spec-snapshot.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { canaryDraftRejection, canarySpecRejection } from '../../../core/rules/canary.ts';
import type { CANARIES } from '../../../core/operations/canaries.ts';
import { actorName } from '../../journal/journal.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  acceptedOf,
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
} from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { canaryView } from '../../reads/canary.ts';
import { type AdmittedDraft, admitDraft, readDeployment } from './deployment-draft.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { digestAlterations, identityOf } from '../images/image-answer.ts';
import { type AdmittedSpec, admitSpec, completeWrite, deploymentNotFound } from './deployment-write.ts';

/** Fields that are the deployment's own while a canary runs: no container is made from them. */
const OF_DEPLOYMENT = ['replicas', 'access', 'update'] as const;

/** A rejection of the spec, as a path into the body that was sent. */
function inBody(field: 'image' | 'spec', rejection: Rejection): Rejection {
  if (field === 'image') return rejection;
  return { ...rejection, field: rejection.field === 'body' ? 'spec' : `spec.${rejection.field}` };
}

function nameRejection(sent: SentDeployment, name: string): Rejection | undefined {
  const named = sent.name;
  if (named === undefined || named === null || named === name) return undefined;
  return reject('name_mismatch', {
    field: 'spec.name',
    received: received(named),
    expected: name,
    why: 'The spec names another deployment than the path.',
  });
}

function keptFields(sent: SentDeployment, stable: DeploymentSpec): readonly Alteration[] {
  return OF_DEPLOYMENT.filter(
    (field) =>
      Object.hasOwn(sent, field) &&
      canonicalJson(sent[field] ?? null) !== canonicalJson(stable[field] ?? null),
  ).map((field) => ({
    field: `spec.${field}`,
    from: received(sent[field]),
    to: received(stable[field]),
    why: `${field} stays that of the deployment${field === 'replicas' ? '; the number of the canary is the field beside spec' : ''}`,
  }));
}

export interface CanaryRequest {
  readonly field: 'image' | 'spec';
  /** Still as it was sent. */
  readonly changes: unknown;
  readonly replicas: number;
  readonly weight?: number | undefined;
  /** The deployment as a GET shows it: keys of the server that differ from it are announced. */
  readonly view?: Answer<typeof deployment>;
  /** What its image was, of one that is restored. */
  readonly wantedDigest?: string;
}

export interface AdmittedCanary {
  readonly record: CanaryRecord;
  readonly admitted: AdmittedSpec;
  readonly alterations: readonly Alteration[];
}

/** The stable spec with the changes, through every rule that a deployment passes. */
export async function admitCanary(
  admission: Admission,
  caller: Caller,
  stable: Pick<DeploymentRecord, 'spec' | 'specHash' | 'imageDigest' | 'seenImages'>,
  { field, changes, replicas, weight, view, wantedDigest }: CanaryRequest,
): Promise<AdmittedCanary | Rejection> {
  const sent = readDeployment(changes);
  if (isRejection(sent)) return inBody(field, sent);
  const misnamed = nameRejection(sent, stable.spec.name);
  if (misnamed) return misnamed;
  const { name: _name, replicas: _replicas, access: _access, update: _update, ...taken } = sent;
  const draft: AdmittedDraft | Rejection = admitDraft(
    mergeDraft(stable.spec, taken),
    taken,
    { secretsVersion: stable.spec.secretsVersion, ...(view && { view }) },
    admission.limits,
    volumeIdIn(caller.tenant),
  );
  if (isRejection(draft)) return inBody(field, draft);
  const admitted = await admitSpec(admission, caller, { ...draft, isAnnounced: KNOWN_SOURCES }, stable, {
    beside: true,
    imageSent: Object.hasOwn(taken, 'image'),
    ...(wantedDigest === undefined ? {} : { wantedDigest }),
  });
  if (isRejection(admitted)) return inBody(field, admitted);
  const { spec } = admitted;
  const identity = identityOf(caller.tenant, spec, admitted.imageDigest, stable);
  const refused = canarySpecRejection(field, stable.spec, spec, identity.specHash === stable.specHash);
  if (refused) return refused;
  const within = field === 'spec' ? 'spec.' : '';
  return {
    record: {
      spec,
      ...identity,
      replicas,
      ...optional('weight', weight),
      stableSpecHash: stable.specHash,
      createdAt: admission.clock.now().toISOString(),
      createdBy: actorName(caller),
    },
    admitted,
    alterations: [
      ...keptFields(sent, stable.spec),
      ...digestAlterations(draft.alterations, spec.image, identity, stable).map((one) => ({
        ...one,
        field: `${within}${one.field}`,
      })),
      ...admitted.material.alterations.map((one) => ({ ...one, field: `${within}${one.field}` })),
    ],
  };
}

/** The record with its snapshot, its event and its audit line. */
export function addCanary(
  admission: Admission,
  caller: Caller,
  record: CanaryRecord,
  transaction: Transaction,
): void {
  const { name, image } = record.spec;
  const subject = { kind: 'Deployment', name } as const;
  const { tenantId } = caller.tenant;
  transaction.put('canaries', idOf('canaries', name), record);
  // A restored canary may be what the deployment ran until now, which this commit keeps.
  const snapshot = idOf('specs', name, record.specHash);
  if (!transaction.hasPut('specs', snapshot)) transaction.put('specs', snapshot, snapshotOf(record));
  const { replicas, specHash: hash, stableSpecHash } = record;
  admission.journal.event(transaction, tenantId, {
    kind: 'deployment.canary_started',
    subject,
    message: `a canary of ${name} with ${replicas} instances of ${image} starts beside the stable ones`,
    details: { image, ...pinOf(record.imageDigest), replicas, specHash: hash, stableSpecHash },
  });
  admission.journal.audit(transaction, tenantId, caller, 'deployment.canary-started', subject);
}

function alreadyThere(name: string, { record }: Stored<CanaryRecord>): Rejection {
  return reject('canary_already_exists', {
    field: 'name',
    received: name,
    why: `A canary of ${record.spec.image} runs beside this deployment already.`,
  });
}

const accepted = acceptedOf<typeof CANARIES.start>();

async function attempt(
  admission: Admission,
  caller: Caller,
  stored: Stored<DeploymentRecord>,
  draft: CanaryDraft,
): Promise<Attempt<typeof CANARIES.start>> {
  const { tenant } = caller;
  const stable = stored.record;
  const { name } = stable.spec;
  const running = tenant.get('canaries', idOf('canaries', name));
  if (running !== undefined) return alreadyThere(name, running);
  const field = draft.spec === undefined ? 'image' : 'spec';
  const changes = field === 'image' ? { image: draft.image } : draft.spec;
  const canary = await admitCanary(admission, caller, stable, {
    field,
    changes,
    replicas: draft.replicas ?? 1,
    weight: draft.weight,
    view: storedDeploymentView(admission, tenant, stored),
  });
  if (isRejection(canary)) return canary;
  const { record, admitted } = canary;
  const alterations: readonly Alteration[] = [
    ...(draft.replicas === undefined
      ? [{ field: 'replicas', from: '(absent)', to: '1', why: 'default number of instances' }]
      : []),
    ...canary.alterations,
  ];
  const transaction = tenant
    .transaction()
    .expect('deployments', idOf('deployments', name), stored)
    .expect('canaries', idOf('canaries', name), undefined);
  addCanary(admission, caller, record, transaction);
  const failed = await completeWrite(admission, caller, admitted, stable.spec, transaction);
  if (failed) return failed;
  const body = {
    ...canaryView(tenant, name, record),
    alterations,
    warnings: admitted.warnings,
    removed: removedEntries(stable.spec, record.spec),
  };
  return { answer: accepted(201, body), transaction };
}

export async function startCanary(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  draft: CanaryDraft,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof CANARIES.start>> {
  const malformed = canaryDraftRejection(draft, admission.limits.maxReplicasPerDeployment);
  if (malformed) return malformed;
  return commitAttempts(admission, caller, async () => {
    const { stored, field } = findDeployment(caller.tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    return revisionRejection(ifMatch, stored.modRevision) ?? attempt(admission, caller, stored, draft);
  });
}
