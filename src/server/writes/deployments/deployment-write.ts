import { asSent } from '../../../core/alterations/as-sent.ts';
import { removedEntries } from '../../../core/contract/deployment-merge.ts';
import { specOfDraft } from '../../../core/contract/deployment-spec.ts';
import { deploymentView } from '../../../core/contract/deployment-view.ts';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import type { Alteration, Warning } from '../../../core/model/announcement.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { DeploymentRecord, DeploymentSpec, Workload } from '../../../core/model/deployment.ts';
import { pinOf, type Pinned, snapshotOf } from '../../../core/model/spec-snapshot.ts';
import type { ScalingPolicy } from '../../../core/model/scaling.ts';
import type { ArchiveChange } from '../../../core/model/event.ts';
import { carryRotation } from '../../../core/secrets/rotation.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { withoutUnknown } from '../../../core/rules/attachment-facts.ts';
import { refersToRecords } from '../../../core/rules/deployment-facts.ts';
import { isJudged } from '../../../core/rules/rule.ts';
import { checkNothingPersists } from '../../../core/rules/secrets/persist-guard.ts';
import {
  constrainsResidency,
  countryOf,
  residencyWarning,
  unstatedWarning,
} from '../../../core/scheduler/residency.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { timeText } from '../../clock.ts';
import { countedWarnings } from '../../placement/counted.ts';
import { claimIngress } from '../../placement/ingress-claims.ts';
import { type DeploymentPlan, planDeployment } from '../../placement/deployment-plan.ts';
import { planIngressWarnings, planReachWarnings } from '../../placement/reach.ts';
import { supposeInstances } from '../../placement/supposed-instances.ts';
import { stopFirstWarnings } from '../../placement/stop-first.ts';
import { claimVolumes } from '../../placement/volume-claims.ts';
import { volumeWarnings } from '../../placement/volume-residency.ts';
import type { Stored } from '../../store/collection.ts';
import { containerDefaultsOf } from '../../store/container-defaults.ts';
import { tenantKey } from '../../store/keys.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Accepted, type Admission, type Attempt, type Caller } from '../admission.ts';
import { unproven } from '../commit-proof.ts';
import { guardPlan, planId, planRejection } from '../plan-guard.ts';
import type { AdmittedDraft } from './deployment-draft.ts';
import { deploymentFacts, storedRejection, storedWarnings } from './deployment-stored.ts';
import { storedDeploymentView } from '../../reads/deployment.ts';
import { addSupersededCanary, canaryWarnings } from './canary-stored.ts';
import { digestAlterations, identityOf, imageAnswer, seenAfter } from '../images/image-answer.ts';
import { scaledWarnings, withinStoredPolicy } from './scaled-replicas.ts';
import { type PlannedMaterial, planMaterial } from '../secrets/secret-material.ts';
import {
  claimLabels,
  type KnownDocuments,
  knownKeys,
  referenceWarnings,
  rotatingCollision,
  secretRejection,
  supposeDocuments,
} from '../secrets/secret-references.ts';

export interface DeploymentWrite {
  readonly admitted: AdmittedDraft;
  /** What is replaced; absent on create. */
  readonly previous?: Stored<DeploymentRecord>;
  readonly change: ArchiveChange;
  readonly dryRun: boolean;
  /** The plan that the caller was shown. */
  readonly plan?: string;
  /** What the operation has to say beside what every write says. */
  readonly warnings?: readonly Warning[];
  /** What the image of the spec was when an earlier version ran it. */
  readonly wantedDigest?: string;
  /** Of the event: where the spec came from. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The policy that this write stores too, or null for none; absent: the stored one holds. */
  readonly policy?: ScalingPolicy | null;
  /** The operation itself says what becomes of a canary. */
  readonly endsCanary?: boolean;
}

function warnings(admission: Admission, caller: Caller, spec: DeploymentSpec): Warning[] {
  return [
    ...storedWarnings(admission, caller, spec),
    ...residencyWarnings(admission, caller, spec),
    ...volumeWarnings(caller.tenant, admission.residency, spec),
    ...countedWarnings(caller.tenant, admission.clusters.defaultRequest, spec),
  ];
}

/** Looks at every node, where anything is asked for. */
export function residencyWarnings(admission: Admission, caller: Caller, spec: Workload): Warning[] {
  if (!constrainsResidency(spec.placement?.residency)) return [];
  const nodes = caller.tenant.list('nodes').map(({ id, record }) => ({
    name: record.name,
    labels: record.labels,
    reachable: caller.tenant.get('node-liveness', id)?.record.status === 'ready',
  }));
  const { enforcement, regions, unstated } = admission.residency;
  const residency = residencyWarning(spec, nodes, enforcement, regions, unstated);
  const silent = nodes.flatMap(({ name, labels }) => (countryOf(labels) === undefined ? [name] : []));
  return [
    ...(residency === undefined ? [] : [residency]),
    ...unstatedWarning(spec.placement?.residency, silent, unstated),
  ];
}

function nextRecord(
  admission: Admission,
  caller: Caller,
  { spec, imageDigest }: AdmittedSpec,
  previous: DeploymentRecord | undefined,
  version: number,
): DeploymentRecord {
  const identity = identityOf(caller.tenant, spec, imageDigest);
  const seenImages = seenAfter(previous?.seenImages, spec.image, identity.imageDigest, version);
  const now = timeText(admission.clock);
  const rotation = carryRotation(previous?.rotation, previous?.spec.secrets ?? [], spec.secrets);
  return {
    id: previous?.id ?? admission.ids.next('deployment'),
    tenantId: caller.tenant.tenantId,
    spec,
    ...identity,
    ...(seenImages.length === 0 ? {} : { seenImages }),
    version,
    createdAt: previous?.createdAt ?? now,
    updatedAt: now,
    ...(rotation === undefined ? {} : { rotation }),
    ...(previous?.restart && { restart: previous.restart }),
    ...(previous?.orders && { orders: previous.orders }),
  };
}

/** A name that was used before continues its history: versions are not reused while any of them is kept. */
function nextVersion(caller: Caller, name: string, previous: DeploymentRecord | undefined): number {
  if (previous !== undefined) return previous.version + 1;
  const { tenant, proof } = caller;
  const id = idOf('last-versions', name);
  proof?.rely(tenantKey(tenant.tenantId, 'last-versions', id));
  return (tenant.get('last-versions', id)?.record.version ?? 0) + 1;
}

const EVENT_OF_CHANGE: Readonly<Record<Exclude<ArchiveChange, 'deleted'>, string>> = {
  created: 'deployment.created',
  updated: 'deployment.updated',
  rotated: 'deployment.rotated',
  'rolled-back': 'deployment.rolled_back',
  restored: 'deployment.restored',
};

export interface AdmittedSpec extends Pinned {
  readonly spec: DeploymentSpec;
  readonly warnings: readonly Warning[];
  readonly material: PlannedMaterial;
  /** Absent: no secret was judged. */
  readonly known?: KnownDocuments;
}

/** What the stateful rules of secrets read; an update without one of them does not ask the secrets store. */
export const SECRET_FIELDS = ['environment', 'secrets', 'composedEnvironment', 'volumes'] as const;

export interface SpecTerms {
  /** It runs beside the stable one. */
  readonly beside?: boolean;
  /** The bytes that an earlier version ran. */
  readonly wantedDigest?: string;
  /** False: the image is that of the stable spec, and so are its bytes. */
  readonly imageSent?: boolean;
}

/** Every rule that needs stored state or another program: facts, the registry's answer, the secrets store. */
export async function admitSpec(
  admission: Admission,
  caller: Caller,
  admitted: AdmittedDraft,
  previous: Pick<DeploymentRecord, 'spec' | 'imageDigest' | 'seenImages'> | undefined,
  terms: SpecTerms = {},
): Promise<AdmittedSpec | Rejection> {
  const { draft, alterations, judged } = admitted;
  const before = previous?.spec;
  const { tenant } = caller;
  const spec = specOfDraft(draft);
  // Documents are written before the commit, and of records that it refers to not each is guarded.
  if (caller.proof && (spec.secrets.length > 0 || refersToRecords(spec))) return unproven();
  // Only what takes long is waited for: each wait lets other requests in between, whose records replace this one's in the caches.
  const asked = isJudged(judged, SECRET_FIELDS) ? knownKeys(admission.secrets, tenant, spec) : undefined;
  const known = asked instanceof Promise ? await asked : asked;
  const secret = known && secretRejection(admission.secrets, tenant, draft, spec, before, known);
  const stateful =
    (secret && (await secret)) ??
    (known && rotatingCollision(tenant, draft, spec, known)) ??
    storedRejection(admission, caller, spec, admitted);
  if (stateful) return asSent(stateful, alterations);
  const answered = imageAnswer(admission, caller, spec.image, {
    ...(previous && { before: { ...previous, image: previous.spec.image } }),
    sent: terms.imageSent ?? isJudged(judged, ['image']),
    stops: spec.replicas === 0,
    ...(terms.wantedDigest === undefined ? {} : { wanted: terms.wantedDigest }),
  });
  // A registry takes longer than the store: what it says is waited for once, by whoever is judged by the newest state.
  if (caller.proof && answered instanceof Promise) {
    answered.catch(() => undefined);
    return unproven();
  }
  const image = answered instanceof Promise ? await answered : answered;
  if (isRejection(image)) return image;
  const planned = planMaterial(admission.secrets, caller, draft, spec, terms);
  const material = planned instanceof Promise ? await planned : planned;
  if (isRejection(material)) return material;
  const guard = checkNothingPersists(spec.secrets);
  if (guard) return guard;
  const missing = known === undefined ? [] : referenceWarnings(draft, known);
  return {
    spec,
    ...pinOf(image.imageDigest),
    warnings: [...image.warnings, ...warnings(admission, caller, spec), ...missing],
    material,
    ...(known && { known }),
  };
}

/** What a spec relied on, in the transaction that stores it; then its material, which cannot be taken back. */
export async function completeWrite(
  admission: Admission,
  caller: Caller,
  { spec, material, known }: AdmittedSpec,
  before: DeploymentSpec | undefined,
  transaction: Transaction,
): Promise<Rejection | undefined> {
  guardDependencies(caller, spec, before, transaction);
  const claimed = claimLabels(admission.secrets, caller.tenant, spec, transaction, known);
  const split = claimed && (await claimed);
  if (split) return split;
  const applied = material.apply();
  const failed = applied && (await applied);
  if (failed) return failed;
  material.include(transaction);
  return undefined;
}

/**
 * The part of the write path that POST, PUT, rollback, restore and promotion share: facts, the registry's answer, the record, and
 * one guarded transaction with its archive version, event and audit line.
 */
export async function attemptDeploymentWrite(
  admission: Admission,
  caller: Caller,
  write: DeploymentWrite & { readonly previous: Stored<DeploymentRecord> },
): Promise<Attempt<typeof DEPLOYMENTS.update>>;
export async function attemptDeploymentWrite(
  admission: Admission,
  caller: Caller,
  write: DeploymentWrite,
): Promise<Attempt<typeof DEPLOYMENTS.create>>;
export async function attemptDeploymentWrite(
  admission: Admission,
  caller: Caller,
  { admitted, previous, change, dryRun, plan: shown, ...said }: DeploymentWrite,
): Promise<Attempt<typeof DEPLOYMENTS.create>> {
  const { tenant } = caller;
  const before = previous?.record.spec;
  const scaled = withinStoredPolicy(tenant, admitted, said.policy);
  const admittedSpec = await admitSpec(
    admission,
    caller,
    scaled.admitted,
    previous?.record,
    said.wantedDigest === undefined ? {} : { wantedDigest: said.wantedDigest },
  );
  if (isRejection(admittedSpec)) return admittedSpec;
  const { spec, material } = admittedSpec;
  const record = nextRecord(
    admission,
    caller,
    admittedSpec,
    previous?.record,
    nextVersion(caller, spec.name, previous?.record),
  );
  const announced = {
    alterations: [
      ...digestAlterations(scaled.admitted.alterations, spec.image, record, previous?.record),
      ...material.alterations,
    ],
    warnings: [
      ...admittedSpec.warnings,
      ...scaledWarnings(scaled.policy, spec, before),
      ...(previous === undefined ? [] : stopFirstWarnings(admission.clusters, tenant, record)),
      ...(said.endsCanary === true ? [] : canaryWarnings(tenant, previous?.record, record)),
      ...(said.warnings ?? []),
    ],
    ...(before === undefined ? {} : { removed: removedEntries(before, spec) }),
  };
  const answer = accepted(admission, caller, record, previous, announced);
  const plan = dryRun || shown !== undefined ? planOf(admission, caller, previous, record) : undefined;
  const outdated = plan && planRejection(shown, plan.id);
  if (outdated) return outdated;
  if (dryRun && plan) {
    const would = () => {
      supposeDocuments(admission.secrets, scaled.admitted.draft, admittedSpec.known);
      return supposedWrite(caller, record, before, plan.actions);
    };
    return { answer: withPlan(caller, answer, previous?.record, record, plan), would };
  }

  // The registry and the secrets store were asked meanwhile: what the guards below hold must still be what the rules saw.
  const moved = storedRejection(admission, caller, spec, admitted);
  if (moved) return asSent(moved, admitted.alterations);
  const transaction = writeTransaction(admission, caller, record, previous, change, said);
  claimVolumes(tenant, spec.name, { before, after: spec }, transaction);
  claimIngress(tenant, spec.name, { before, after: spec }, transaction);
  if (said.policy === undefined) {
    const id = idOf('scaling-policies', spec.name);
    transaction.expect('scaling-policies', id, tenant.get('scaling-policies', id));
  }
  if (plan) guardPlan(tenant, spec, plan.actions, transaction);
  const failed = await completeWrite(admission, caller, admittedSpec, before, transaction);
  if (failed) return failed;
  if (change !== 'created') return { answer, transaction };
  return { answer, transaction, lastly: () => admission.firstPlan?.(record, transaction) };
}

/** What others of a set are judged by. */
function supposedWrite(
  { tenant }: Caller,
  record: DeploymentRecord,
  before: DeploymentSpec | undefined,
  actions: DeploymentPlan['actions'],
): Transaction {
  const { spec } = record;
  const transaction = tenant.transaction().put('deployments', idOf('deployments', spec.name), record);
  claimVolumes(tenant, spec.name, { before, after: spec }, transaction);
  claimIngress(tenant, spec.name, { before, after: spec }, transaction);
  supposeInstances(transaction, snapshotOf(record), record.specHash, actions);
  return transaction;
}

/** More would not fit into one commit of etcd; a chain of that length is walked, and only its first part guarded. */
const MAX_GUARDED_DEPENDENCIES = 32;

/** Two writes that close a circle together must not both pass: what the walk relied on must still be so. */
function guardDependencies(
  { tenant }: Caller,
  spec: DeploymentSpec,
  before: DeploymentSpec | undefined,
  transaction: Transaction,
): void {
  if (spec.dependsOn === undefined && before?.dependsOn === undefined) return;
  if (canonicalJson(spec.dependsOn ?? {}) === canonicalJson(before?.dependsOn ?? {})) return;
  const reached = new Set(Object.keys(spec.dependsOn ?? {}));
  for (const name of reached) {
    if (reached.size > MAX_GUARDED_DEPENDENCIES) return;
    const stored = tenant.get('deployments', idOf('deployments', name));
    transaction.expect('deployments', idOf('deployments', name), stored);
    for (const next of Object.keys(stored?.record.spec.dependsOn ?? {})) reached.add(next);
  }
}

const written = acceptedOf<typeof DEPLOYMENTS.create>();

function accepted(
  admission: Admission,
  caller: Caller,
  record: DeploymentRecord,
  previous: Stored<DeploymentRecord> | undefined,
  announced: {
    readonly alterations: readonly Alteration[];
    readonly warnings: readonly Warning[];
    readonly removed?: readonly string[];
  },
): Accepted<typeof DEPLOYMENTS.create> {
  const view =
    previous === undefined
      ? deploymentView({
          record,
          revision: 0,
          defaults: containerDefaultsOf(caller.tenant, admission.containerDefaults),
        })
      : storedDeploymentView(admission, caller.tenant, { ...previous, record });
  return written(previous === undefined ? 201 : 200, { ...view, removed: [], ...announced });
}

/** What saving would do to what runs; where new instances would go and why, or every node's reasons. */
function planOf(
  admission: Admission,
  caller: Caller,
  previous: Stored<DeploymentRecord> | undefined,
  after: DeploymentRecord,
): DeploymentPlan & { readonly id: string } {
  const { name } = after.spec;
  const spec = withoutUnknown(after.spec, deploymentFacts(admission, caller, name));
  const { clusters } = admission;
  const plan = clusters.supposedIn(caller.tenant, () =>
    planDeployment(clusters, caller.tenant, previous?.record, { ...after, spec }),
  );
  const record = { kind: 'Deployment', name, revision: previous?.modRevision };
  return { ...plan, id: planId(caller.tenant, { record, document: snapshotOf(after), plan }) };
}

/** With each field that changes. */
function withPlan(
  caller: Caller,
  answer: Accepted<typeof DEPLOYMENTS.create>,
  before: DeploymentRecord | undefined,
  after: DeploymentRecord,
  plan: DeploymentPlan & { readonly id: string },
): Accepted<typeof DEPLOYMENTS.create> {
  const diff = before === undefined ? {} : { diff: fieldDifferences(snapshotOf(before), snapshotOf(after)) };
  const unreached = planReachWarnings(
    caller.tenant,
    plan.instances.map(({ node }) => node),
  );
  const warnings = [...answer.body.warnings, ...unreached, ...planIngressWarnings(caller.tenant, after.spec)];
  return written(200, { ...answer.body, warnings, plan: { ...plan, ...diff } });
}

/** The record with its snapshot, archive version, event and audit line: one commit, guarded by what was read. */
export function writeTransaction(
  admission: Admission,
  caller: Caller,
  record: DeploymentRecord,
  previous: Stored<DeploymentRecord> | undefined,
  change: ArchiveChange,
  { details = {}, endsCanary = false }: Pick<DeploymentWrite, 'details' | 'endsCanary'> = {},
): Transaction {
  const { tenant } = caller;
  const { name } = record.spec;
  const id = idOf('deployments', name);
  const subject = { kind: 'Deployment', name } as const;
  const transaction = tenant.transaction().expect('deployments', id, previous);
  admission.journal.version(transaction, caller, { previous: previous?.record, record, change });
  if (previous !== undefined && !endsCanary)
    addSupersededCanary(admission, caller, previous.record, record, transaction);
  if (change !== 'deleted') {
    admission.journal.event(transaction, tenant.tenantId, {
      kind: EVENT_OF_CHANGE[change],
      subject,
      message: `${name} ${change}: version ${record.version}`,
      details: {
        version: record.version,
        specHash: record.specHash,
        ...pinOf(record.imageDigest),
        replicas: record.spec.replicas,
        ...details,
      },
    });
  }
  admission.journal.audit(transaction, tenant.tenantId, caller, `deployment.${change}`, subject);
  return transaction;
}

export function deploymentNotFound(field: 'name' | 'deployment_id', nameOrId: string): Rejection {
  return reject('deployment_not_found', {
    field,
    received: received(nameOrId),
    why: `The tenant has no deployment of this ${field === 'name' ? 'name' : 'id'}.`,
  });
}
