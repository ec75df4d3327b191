import { createHash } from 'node:crypto';
import {
  type BackupDocument,
  decodeBackupDocument,
  invalidBackup,
  undigestedDocument,
} from '../../../core/contract/backup-document.ts';
import { draftOfBody } from '../../../core/contract/deployment-merge.ts';
import { withoutMaterial } from '../../../core/contract/deployment-spec.ts';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import { BACKUP_CONTENT_BYTES, type BackupContent, type BackupRecord } from '../../../core/model/backup.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import { isRecord } from '../../../core/model/values.ts';
import { redacted } from '../../../core/rejections/redaction.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { canaryDraftRejection, canarySpecRejection } from '../../../core/rules/canary.ts';
import { scalingPolicyRejection } from '../../../core/rules/scaling-policy.ts';
import type { BACKUPS } from '../../../core/operations/backups.ts';
import { actorName } from '../../journal/journal.ts';
import {
  acceptedOf,
  type Admission,
  type Caller,
  commitAttempts,
  type Outcome,
  specHash,
} from '../admission.ts';
import { backupTransaction, jsonBytes } from './backup-stored.ts';
import { admitDraft, readDeployment } from '../deployments/deployment-draft.ts';

/** Finds damage and edits; it is no signature, so an import trusts nothing that it has not checked itself. */
function digestOf(document: Omit<BackupDocument, 'sha256'>): string {
  return createHash('sha256').update(canonicalJson(document)).digest('hex');
}

export function exportBackup(record: BackupRecord): BackupDocument {
  const document = undigestedDocument(record);
  return { ...document, sha256: digestOf(document) };
}

/**
 * A stored spec is exactly what a draft becomes: no write-time secret material, no key that the server owns, no null.
 * A document that says more was made by hand, and nothing of what it says is kept.
 */
function inexactSpec(spec: unknown, at: string): Rejection | undefined {
  const sent = readDeployment(spec);
  if (isRejection(sent)) {
    const field = sent.field === 'body' ? at : `${at}.${sent.field}`;
    return invalidBackup(field, sent.received, sent.why, sent.expected);
  }
  if (isRecord(sent.ingress)) {
    return invalidBackup(
      `${at}.ingress`,
      redacted(sent.ingress),
      'A spec is stored with a list of ways in.',
      'a list of entries',
    );
  }
  const [difference] = fieldDifferences(sent, withoutMaterial(draftOfBody(sent)));
  if (difference === undefined && !Object.values(sent).includes(null)) return undefined;
  return invalidBackup(
    difference === undefined ? at : `${at}.${difference.field}`,
    redacted(difference === undefined ? spec : (difference.from ?? undefined)),
    'A backup holds specs as they are stored: without material of secrets, keys of the server and nulls.',
  );
}

/** An ingress was one object, and meant labels for Traefik. */
function withIngressLists(content: BackupContent): BackupContent {
  const { spec, canary, revisions } = content;
  return {
    ...content,
    spec: withIngressList(spec),
    canary: canary && { ...canary, spec: withIngressList(canary.spec) },
    revisions: revisions.map((revision) => ({ ...revision, spec: withIngressList(revision.spec) })),
  };
}

function withIngressList(spec: DeploymentSpec): DeploymentSpec {
  const ingress: unknown = isRecord(spec) ? spec.ingress : undefined;
  if (!isRecord(ingress)) return spec;
  const { host, port } = ingress;
  const isOld = Object.keys(ingress).length === 2 && typeof host === 'string' && typeof port === 'number';
  return isOld ? { ...spec, ingress: [{ host, port, provider: 'traefik' }] } : spec;
}

/** The rules of deployments that need no stored state; the others are asked by the restore. */
function refusedSpec(admission: Admission, spec: DeploymentSpec): Rejection | undefined {
  const { secretsVersion } = spec;
  const admitted = admitDraft(draftOfBody(spec), spec, { secretsVersion }, admission.limits);
  return isRejection(admitted) ? admitted : undefined;
}

function sizeRejection({ spec, canary, revisions }: BackupContent): Rejection | undefined {
  const history = revisions.reduce((bytes, revision) => bytes + jsonBytes(revision), 0);
  const present = jsonBytes(spec) + (canary === null ? 0 : jsonBytes(canary));
  if (history === 0 || present + history <= BACKUP_CONTENT_BYTES) return undefined;
  return invalidBackup(
    'backup.content.revisions',
    `${history} bytes`,
    'No backup is made with a history this large.',
    `at most ${BACKUP_CONTENT_BYTES} bytes with the spec`,
  );
}

function contentRejection(admission: Admission, content: BackupContent): Rejection | undefined {
  const large = sizeRejection(content);
  if (large) return large;
  const at = 'backup.content.spec';
  const inexact = inexactSpec(content.spec, at);
  if (inexact) return inexact;
  for (const [index, { spec }] of content.revisions.entries()) {
    const rejection = inexactSpec(spec, `backup.content.revisions[${index}].spec`);
    if (rejection) return rejection;
  }
  const refused = refusedSpec(admission, content.spec);
  if (refused) return { ...refused, field: `${at}.${refused.field}` };
  return policyRejection(admission, content) ?? canaryRejection(admission, content);
}

/** Without the quota, which is asked by the restore. */
function policyRejection(
  admission: Admission,
  { spec, scalingPolicy }: BackupContent,
): Rejection | undefined {
  if (scalingPolicy === null) return undefined;
  const { maxReplicasPerDeployment } = admission.limits;
  const refused = scalingPolicyRejection({
    policy: scalingPolicy,
    maxReplicasPerDeployment,
    spec,
    quota: {},
  });
  // A text in the place of a duration may be anything.
  return (
    refused && {
      ...refused,
      field: `backup.content.scalingPolicy.${refused.field}`,
      received: redacted(Object.entries(scalingPolicy).find(([field]) => field === refused.field)?.[1]),
    }
  );
}

function canaryRejection(
  admission: Admission,
  { spec, imageDigest, canary }: BackupContent,
): Rejection | undefined {
  if (canary === null) return undefined;
  const at = 'backup.content.canary';
  const inexact = inexactSpec(canary.spec, `${at}.spec`);
  if (inexact) return inexact;
  const isSame =
    specHash(spec) === specHash(canary.spec) && imageDigest === (canary.imageDigest ?? imageDigest);
  const refused =
    canaryDraftRejection(canary, admission.limits.maxReplicasPerDeployment) ??
    canarySpecRejection('spec', spec, canary.spec, isSame);
  if (refused) return { ...refused, field: `${at}.${refused.field}` };
  const unfit = refusedSpec(admission, canary.spec);
  return unfit && { ...unfit, field: `${at}.spec.${unfit.field}` };
}

/** Old versions may be beyond the limits of this control plane: they are left out one by one, and each is announced. */
function acceptableHistory(
  admission: Admission,
  { revisions }: BackupContent,
): { readonly revisions: BackupContent['revisions']; readonly alterations: readonly Alteration[] } {
  const alterations: Alteration[] = [];
  const kept = revisions.filter(({ spec, version }, index) => {
    const refused = refusedSpec(admission, spec);
    if (refused === undefined) return true;
    alterations.push({
      field: `content.revisions[${index}]`,
      from: `version ${version}`,
      to: '(absent)',
      why: `this control plane refuses its ${refused.field}: ${refused.code}`,
    });
    return false;
  });
  return { revisions: kept, alterations };
}

const accepted = acceptedOf<typeof BACKUPS.importDocument>();

export async function importBackup(
  admission: Admission,
  caller: Caller,
  body: unknown,
): Promise<Outcome<typeof BACKUPS.importDocument>> {
  const document = decodeBackupDocument(body, digestOf);
  if (isRejection(document)) return document;
  const { id: originId, deploymentName, version, createdAt } = document.backup;
  const content = withIngressLists(document.backup.content);
  const rejection = contentRejection(admission, content);
  if (rejection) return rejection;
  const { revisions, alterations } = acceptableHistory(admission, content);
  return commitAttempts(admission, caller, () => {
    const record: BackupRecord = {
      id: admission.ids.next('backup'),
      deploymentName,
      version,
      specHash: specHash(content.spec),
      createdAt: admission.clock.now().toISOString(),
      createdBy: actorName(caller),
      imported: { id: originId, createdAt },
      content: { ...content, revisions },
    };
    const transaction = backupTransaction(admission, caller, record, 'imported');
    return { answer: accepted(201, { ...record, alterations, warnings: [], removed: [] }), transaction };
  });
}
