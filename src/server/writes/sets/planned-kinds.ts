import { type FieldDifference, fieldDifferences } from '../../../core/contract/diff.ts';
import { differingFields } from '../../../core/contract/as-described.ts';
import type { Document, DocumentKind } from '../../../core/contract/document-order.ts';
import { scalingPolicyBody } from '../../../core/contract/scaling-policy-body.ts';
import type { Permission } from '../../../core/model/permission.ts';
import { policyOf } from '../../../core/model/scaling.ts';
import { specOf } from '../../../core/model/webhook.ts';
import { isRecord } from '../../../core/model/values.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import type { SETS } from '../../../core/operations/sets.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { received } from '../../../core/rejections/redaction.ts';
import type { RejectionCode } from '../../../core/rejections/catalogue.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { networkRules, readNetworkShape } from '../../../core/rules/network.ts';
import { volumeRules } from '../../../core/rules/volume-record.ts';
import { draftOf, readBody } from '../../../core/schema/shape.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { findJob } from '../../reads/job.ts';
import { findNetwork } from '../../reads/network.ts';
import { findWebhook } from '../../reads/webhook.ts';
import { volumeIdIn } from '../../reads/volume.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Caller, WriteOptions } from '../admission.ts';
import { createDeployment } from '../deployments/create-deployment.ts';
import { deploymentRejections } from '../deployments/deployment-rejections.ts';
import { setScalingPolicy } from '../deployments/scaling-policy.ts';
import { updateDeployment } from '../deployments/update-deployment.ts';
import { documentRejections } from '../found-rejections.ts';
import { createJob } from '../jobs/create-job.ts';
import { jobRejections } from '../jobs/job-draft.ts';
import { updateJob } from '../jobs/update-job.ts';
import { createNetwork } from '../networks/create-network.ts';
import type { NetworkAdmission } from '../networks/network-stored.ts';
import { applySecret, secretRejections } from '../secrets/apply-secret.ts';
import { createVolume, readVolumeShape } from '../volumes/create-volume.ts';
import { type VolumeAdmission, volumesUnavailable } from '../volumes/volume-stored.ts';
import { createWebhook, updateWebhook, webhookRejections } from '../webhooks/write-webhook.ts';

type PlannedDocument = AnswerOf<typeof SETS.plan>['documents'][number];

/** What the write of one document would do. */
export type Effect = Pick<PlannedDocument, 'alterations' | 'warnings' | 'removed' | 'plan' | 'revision'> & {
  readonly action: 'create' | 'change' | 'unchanged';
  readonly specHash?: string;
  readonly changes?: readonly FieldDifference[];
};

export interface PlannedKind {
  readonly permission: Permission;
  readonly plan: (caller: Caller, document: Document, options: WriteOptions) => Promise<Effect | Rejection>;
  /** Beside the first rejection, all that is refused in the document. */
  readonly every: (
    caller: Caller,
    document: Document,
    first: Rejection,
    options: WriteOptions,
  ) => Promise<readonly Rejection[]>;
}

export interface SetAdmission {
  readonly networks: NetworkAdmission;
  readonly volumes: VolumeAdmission;
}

const UNCHANGED: Effect = { action: 'unchanged', alterations: [], warnings: [], removed: [] };

function nameIn({ name }: Document): string {
  return typeof name === 'string' ? name : '';
}

/** The kind is said by the place of what has only one. */
function withoutKind({ kind: _kind, ...document }: Document): Document {
  return document;
}

/** Material for the secrets store leaves no trace in the record, so equal records do not mean that there is nothing to do. */
function carriesMaterial({ secrets }: Document): boolean {
  const entries: readonly unknown[] = Array.isArray(secrets) ? secrets : [];
  return entries.some((entry) => isRecord(entry) && ('values' in entry || 'generate' in entry));
}

/** What a document cannot change: it is as described, or it is refused with the first field that is not. */
function unchanged(
  code: RejectionCode,
  document: Document,
  stored: Readonly<Record<string, unknown>>,
  advice: string,
): Effect | Rejection {
  const differing = differingFields(document, stored);
  const [field] = differing;
  if (field === undefined) return UNCHANGED;
  return reject(code, {
    field,
    received: received(document[field]),
    expected: `${received(stored[field])}, as it is stored`,
    why: `${nameIn(document)} exists and differs in ${differing.join(', ')}; ${advice}`,
  });
}

interface Written {
  readonly body: Omit<Effect, 'action'> & {
    readonly plan?: NonNullable<Effect['plan']> & { readonly diff?: readonly FieldDifference[] };
  };
}

function created({ body }: Written): Effect {
  const { alterations, warnings, removed, plan, specHash } = body;
  return {
    action: 'create',
    alterations,
    warnings,
    removed,
    ...(plan && { plan }),
    ...(specHash !== undefined && { specHash }),
  };
}

const NOTHING_PLANNED: NonNullable<Written['body']['plan']> = {
  id: '',
  actions: [],
  instances: [],
  waitingFor: [],
};

function changed(outcome: Written, document: Document, revision: number): Effect {
  const { diff: changes = [], ...plan } = outcome.body.plan ?? NOTHING_PLANNED;
  const isChange = changes.length > 0 || outcome.body.removed.length > 0 || carriesMaterial(document);
  return { ...created(outcome), action: isChange ? 'change' : 'unchanged', revision, changes, plan };
}

function deployments({ admission }: NetworkAdmission): PlannedKind {
  return {
    permission: 'deploy',
    plan: async (caller, document, options) => {
      const { stored } = findDeployment(caller.tenant, nameIn(document));
      const outcome = stored
        ? await updateDeployment(admission, caller, undefined, document, options)
        : await createDeployment(admission, caller, document, options);
      if (isRejection(outcome)) return outcome;
      return stored ? changed(outcome, document, stored.modRevision) : created(outcome);
    },
    every: (caller, document, first, options) => {
      const name = nameIn(document);
      const { stored } = findDeployment(caller.tenant, name);
      return deploymentRejections(admission, caller, document, {
        ...options,
        first,
        ...(stored && { updates: name }),
      });
    },
  };
}

function jobs({ admission }: NetworkAdmission): PlannedKind {
  return {
    permission: 'deploy',
    plan: async (caller, document, options) => {
      const name = nameIn(document);
      const stored = findJob(caller.tenant, name);
      const outcome = stored
        ? await updateJob(admission, caller, name, document, options)
        : await createJob(admission, caller, document, options);
      if (isRejection(outcome)) return outcome;
      return stored ? changed(outcome, document, stored.modRevision) : created(outcome);
    },
    every: (caller, document, first) =>
      jobRejections(admission, caller, document, first, findJob(caller.tenant, nameIn(document))),
  };
}

function networks(admission: NetworkAdmission): PlannedKind {
  return {
    permission: 'deploy',
    plan: async (caller, document, options) => {
      const described = withoutKind(document);
      const stored = findNetwork(caller.tenant, nameIn(document))?.record;
      if (stored !== undefined)
        return unchanged(
          'network_already_exists',
          described,
          { ...stored },
          'a network is not changed once it is made: delete it first, or take another name.',
        );
      const outcome = await createNetwork(admission, caller, described, options);
      return isRejection(outcome) ? outcome : created(outcome);
    },
    every: (_caller, document, first) =>
      documentRejections(first, withoutKind(document), readNetworkShape, networkRules),
  };
}

/** One that is still being made is waited for before what mounts it is written. */
function suppose({ tenant }: Caller, record: VolumeRecord): void {
  if (record.phase !== 'Pending' && record.phase !== 'Materializing') return;
  const id = idOf('volumes', record.id);
  tenant.suppose(tenant.transaction().put('volumes', id, { ...record, phase: 'Ready' }));
}

function volumes(admission: VolumeAdmission): PlannedKind {
  return {
    permission: 'volumes.manage',
    plan: async (caller, document, options) => {
      const off = volumesUnavailable(admission.admission);
      if (off) return off;
      // Where its primary is now is not the file's to say.
      const { nodeId: _node, ...described } = withoutKind(document);
      const id = volumeIdIn(caller.tenant)(nameIn(document));
      const stored = id === undefined ? undefined : caller.tenant.get('volumes', idOf('volumes', id))?.record;
      if (stored !== undefined) {
        suppose(caller, stored);
        return unchanged(
          'volume_already_exists',
          described,
          { ...stored, replicas: stored.copies },
          'a volume is not changed by a document: add-replica and remove-replica change its copies.',
        );
      }
      const outcome = await createVolume(admission, caller, withoutKind(document), options);
      return isRejection(outcome) ? outcome : created(outcome);
    },
    every: (_caller, document, first) =>
      documentRejections(first, withoutKind(document), readVolumeShape, volumeRules),
  };
}

/** What exists of it is left alone; how it was made is nobody's to compare. */
function secrets({ admission }: NetworkAdmission): PlannedKind {
  return {
    permission: 'secrets.write',
    plan: async (caller, document, options) => {
      const outcome = await applySecret(admission, caller, document, options);
      if (isRejection(outcome)) return outcome;
      const { alterations, warnings, removed, minted, version, path, keys } = outcome.body;
      admission.secrets.supposed?.set(path, keys);
      const effect = { alterations, warnings, removed };
      if (minted.length === 0) return { ...effect, action: 'unchanged' };
      if (version === 1) return { ...effect, action: 'create' };
      const changes = minted.map((key) => ({ field: `keys[${key}]`, from: null, to: '(to be generated)' }));
      return { ...effect, action: 'change', changes };
    },
    every: (_caller, document, first) => secretRejections(admission, document, first),
  };
}

const readPolicy = (body: unknown) => readBody(scalingPolicyBody, body);

/** It has no name of its own: the document is named like the deployment that it is for. */
function policyIn(document: Document): Document {
  const { name: _deployment, ...policy } = withoutKind(document);
  return policy;
}

/** Whole, as it is written: what a document leaves out gets its default. */
function scalingPolicies({ admission }: NetworkAdmission): PlannedKind {
  return {
    permission: 'deploy',
    plan: async (caller, document, options) => {
      const sent = readPolicy(policyIn(document));
      if (isRejection(sent)) return sent;
      const { tenant } = caller;
      const name = nameIn(document);
      const draft = draftOf(scalingPolicyBody, sent);
      const { stored: deployment } = findDeployment(tenant, name);
      const stored =
        deployment && tenant.get('scaling-policies', idOf('scaling-policies', deployment.record.spec.name));
      const outcome = await setScalingPolicy(admission, caller, name, draft, undefined, options);
      if (isRejection(outcome)) return outcome;
      if (stored === undefined) return created(outcome);
      const changes = fieldDifferences(policyOf(stored.record), policyOf(outcome.body));
      const action = changes.length === 0 ? 'unchanged' : 'change';
      return { ...created(outcome), action, revision: stored.modRevision, changes };
    },
    every: (_caller, document, first) => documentRejections(first, policyIn(document), readPolicy, []),
  };
}

function webhooks({ admission }: NetworkAdmission): PlannedKind {
  return {
    permission: 'deploy',
    plan: async (caller, document, options) => {
      const name = nameIn(document);
      const stored = findWebhook(caller.tenant, name);
      const outcome = stored
        ? await updateWebhook(admission, caller, name, document, options)
        : await createWebhook(admission, caller, document, options);
      if (isRejection(outcome)) return outcome;
      if (stored === undefined) return created(outcome);
      const changes = fieldDifferences(specOf(stored.record), specOf(outcome.body));
      const action = changes.length === 0 ? 'unchanged' : 'change';
      return { ...created(outcome), action, revision: stored.modRevision, changes };
    },
    every: (caller, document, first) => {
      const name = nameIn(document);
      const updates = findWebhook(caller.tenant, name) === undefined ? undefined : name;
      return webhookRejections(admission, caller, document, first, updates);
    },
  };
}

/** How a document of each kind is planned. A new kind is one entry, and its place in `DOCUMENT_KINDS`. */
export function plannedKinds(admission: SetAdmission): Readonly<Record<DocumentKind, PlannedKind>> {
  return {
    Network: networks(admission.networks),
    Volume: volumes(admission.volumes),
    Secret: secrets(admission.networks),
    Deployment: deployments(admission.networks),
    ScalingPolicy: scalingPolicies(admission.networks),
    Job: jobs(admission.networks),
    Webhook: webhooks(admission.networks),
  };
}
