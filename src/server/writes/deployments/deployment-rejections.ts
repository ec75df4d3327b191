import { asSent } from '../../../core/alterations/as-sent.ts';
import { alterDeployment } from '../../../core/alterations/deployment.ts';
import type { deployment } from '../../../core/contract/answers/deployment.ts';
import type { Answer } from '../../../core/schema/shape.ts';
import { deploymentBody, type DeploymentDraft } from '../../../core/contract/deployment-body.ts';
import { draftOfBody, judgedFields, mergeDraft } from '../../../core/contract/deployment-merge.ts';
import { specOfDraft } from '../../../core/contract/deployment-spec.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import { keysOf } from '../../../core/model/values.ts';
import { rejectionIn } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { announcedBy } from '../../../core/rules/attachment-facts.ts';
import { deploymentFactsRejections } from '../../../core/rules/deployment-facts.ts';
import { deploymentRules } from '../../../core/rules/deployment.ts';
import { isJudged } from '../../../core/rules/rule.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { volumeIdIn } from '../../reads/volume.ts';
import type { Stored } from '../../store/collection.ts';
import type { Admission, Caller, WriteOptions } from '../admission.ts';
import { FoundRejections } from '../found-rejections.ts';
import { imageAnswer } from '../images/image-answer.ts';
import { knownKeys, rotatingCollision, secretRejection } from '../secrets/secret-references.ts';
import { existingRejection, readDeployment } from './deployment-draft.ts';
import { deploymentFacts } from './deployment-stored.ts';
import { SECRET_FIELDS } from './deployment-write.ts';

const FIELDS = keysOf(deploymentBody.fields);

interface RefusedWrite extends WriteOptions {
  /** What the write itself was refused with. */
  readonly first: Rejection;
  /** Of an update: the deployment that the path or the body names. */
  readonly updates?: string;
}

/** Beside the first one, all that is refused in a deployment: its shape, each rule, and what depends on what is stored. */
export async function deploymentRejections(
  admission: Admission,
  caller: Caller,
  body: unknown,
  { first, updates, alongside = [], dryRun }: RefusedWrite,
): Promise<readonly Rejection[]> {
  const found = new FoundRejections();
  const left = first.field === 'kind' ? undefined : await found.inShape(body, readDeployment);
  if (left === undefined) return found.after(first);
  const sent = left.value;
  const stored = updates === undefined ? undefined : findDeployment(caller.tenant, updates).stored;
  // Nothing is known of what the fields that are not sent would be.
  if (updates !== undefined && stored === undefined) return found.after(first);
  const view: Answer<typeof deployment> | undefined =
    stored && storedDeploymentView(admission, caller.tenant, stored);
  const altered = alterDeployment({
    draft: stored === undefined ? draftOfBody(sent) : mergeDraft(stored.record.spec, sent),
    body: sent,
    storedSecretsVersion: stored?.record.spec.secretsVersion ?? 0,
    ...(view && { storedView: view }),
    volumeIdOf: volumeIdIn(caller.tenant),
  });
  const told = (refused: Rejection): Rejection => asSent(refused, altered.alterations, sent);
  const judged = stored && judgedFields(stored.record.spec, sent, altered.draft);
  const { limits } = admission;
  const rules = deploymentRules.map((rule) => (draft: DeploymentDraft) => rule({ draft, limits, judged }));
  await found.byRules({ ...left, value: altered.draft }, rules, told);
  if (updates === undefined) found.add(existingRejection(caller, altered.draft.name ?? ''));
  await addStateful(found, admission, caller, {
    draft: altered.draft,
    judged: new Set(
      (judged === undefined ? FIELDS : [...judged]).filter((field) => !found.refused.has(field)),
    ),
    stored,
    isAnnounced: announcedBy(alongside, dryRun),
    told,
  });
  return found.after(first);
}

/** Of the fields that are right in themselves: secrets, what they refer to, and the registry's answer. */
async function addStateful(
  found: FoundRejections,
  admission: Admission,
  caller: Caller,
  {
    draft,
    judged,
    stored,
    isAnnounced,
    told,
  }: {
    readonly draft: DeploymentDraft;
    readonly judged: ReadonlySet<keyof DeploymentDraft>;
    readonly stored: Stored<DeploymentRecord> | undefined;
    readonly isAnnounced: ReturnType<typeof announcedBy>;
    readonly told: (rejection: Rejection) => Rejection;
  },
): Promise<void> {
  const { tenant } = caller;
  const sound: DeploymentDraft = Object.fromEntries(
    Object.entries(draft).filter(([field]) => !found.refused.has(field)),
  );
  const spec = specOfDraft(sound);
  if (isJudged(judged, SECRET_FIELDS) && !SECRET_FIELDS.some((field) => found.refused.has(field))) {
    const known = await knownKeys(admission.secrets, tenant, spec);
    const before = stored?.record.spec;
    const secret = await secretRejection(admission.secrets, tenant, sound, spec, before, known);
    found.add(secret && told(secret));
    found.add(rotatingCollision(tenant, sound, spec, known));
  }
  const facts = deploymentFacts(admission, caller, spec.name, isAnnounced);
  for (const refused of deploymentFactsRejections(spec, facts, judged)) found.add(told(refused));
  if (!judged.has('image') || spec.image === '') return;
  const image = await imageAnswer(admission, caller, spec.image, {
    ...(stored && { before: { ...stored.record, image: stored.record.spec.image } }),
    sent: true,
    stops: spec.replicas === 0,
  });
  found.add(rejectionIn(image));
}
