import { secretMaterialFields } from '../../core/contract/deployment-body.ts';
import { type Draft, shape } from '../../core/contract/shape.ts';
import type { GenerateDraft, SecretWriteDraft } from '../../core/contract/secret-draft.ts';
import type {
  DeploymentRecord,
  RotatedVersions,
  RotationPhase,
  RotationState,
  SecretReference,
} from '../../core/model/deployment.ts';
import { nextRotationPhase } from '../../core/model/rotation-phase.ts';
import { secretPathText, splitSecretPath, type SecretPath } from '../../core/model/secret-path.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import {
  advanceRotation,
  refuseRotation,
  stageRotation,
  stageVersions,
} from '../../core/planner/rotation.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { secretWriteRules } from '../../core/rules/secrets/write.ts';
import { mintSecrets } from '../secrets/generate.ts';
import type { Stored } from '../store/collection.ts';
import { joinId } from '../store/keys.ts';
import {
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
  specHash,
} from './admission.ts';
import { canaryWarnings } from './canary-stored.ts';
import { findDeployment, storedDeploymentView } from './deployment-stored.ts';
import { deploymentNotFound, writeTransaction } from './deployment-write.ts';
import { planDocuments, type PlannedDocuments, secretFailureRejection } from './secret-material.ts';

export const rotateBody = shape({
  type: 'object',
  fields: {
    phase: {
      type: 'any',
      schema: { type: 'string', enum: ['stage', 'promote', 'retire'] },
      description: 'The next phase in order.',
    },
    secret: { type: 'string', description: 'The entry to rotate; absent: every entry.' },
    ...secretMaterialFields,
  },
});

type RotateDraft = Draft<typeof rotateBody>;

/** Every instance that may hold a credential, with the secretsVersion its container carries. */
function rolloutFacts(caller: Caller, record: DeploymentRecord) {
  const observations = caller.tenant.collection('observations');
  const instances = caller.tenant
    .collection('instances')
    .listUnder(joinId(record.spec.name))
    .map(({ id, record: instance }) => {
      const seen = observations.get(id)?.record;
      return {
        id: instance.id,
        phase: seen?.phase ?? ('pending' as const),
        ...(seen?.secretsVersion === undefined ? {} : { secretsVersion: seen.secretsVersion }),
      };
    });
  return { secretsVersion: record.spec.secretsVersion, instances };
}

function phaseRejection(caller: Caller, record: DeploymentRecord, phase: unknown): Rejection | undefined {
  const next = nextRotationPhase(record.rotation);
  if (record.spec.secrets.length === 0) {
    return reject('rotation_transition_invalid', {
      field: 'phase',
      received: received(phase),
      expected: 'a deployment that references a secret',
      why: `${record.spec.name} references no secret, so there is nothing to rotate.`,
    });
  }
  const refusal = refuseRotation(
    record.rotation,
    typeof phase === 'string' ? phase : '',
    rolloutFacts(caller, record),
  );
  if (refusal === undefined) return undefined;
  if (refusal.reason === 'transition_invalid') {
    const done = record.rotation?.phase;
    return reject('rotation_transition_invalid', {
      field: 'phase',
      received: received(phase),
      expected: refusal.next,
      why:
        done === undefined
          ? 'No rotation is under way; it begins with stage.'
          : `The last accepted phase is ${done}; the next is ${next}.`,
    });
  }
  return reject('rotation_rollout_incomplete', {
    field: 'phase',
    received: received(phase),
    expected: `${next}, once every instance carries secretsVersion ${refusal.secretsVersion}`,
    why: `Not yet carrying it: ${refusal.behind.slice(0, 10).join(', ')}. The next phase would leave them without a valid credential.`,
  });
}

function materialRejection(
  admission: Admission,
  draft: RotateDraft,
  targets: readonly SecretReference[],
): Rejection | undefined {
  if (draft.values === undefined && draft.generate === undefined) return undefined;
  if (draft.phase !== 'stage') {
    const field = draft.values === undefined ? 'generate' : 'values';
    return reject('field_unknown', {
      field,
      received: '(redacted)',
      expected: 'no material with this phase',
      why: 'New material is given with stage; promote and retire only move what is staged.',
    });
  }
  if (new Set(targets.map((entry) => entry.vault_path)).size > 1) {
    return reject('secret_name_invalid', {
      field: 'secret',
      received: '(absent)',
      expected: `one of: ${targets.map((entry) => entry.name).join(', ')}`,
      why: 'Material belongs to one credential; say which entry it is for.',
    });
  }
  for (const rule of secretWriteRules) {
    const rejection = rule(draft as SecretWriteDraft, admission.limits.secretPolicy);
    if (rejection) return rejection;
  }
  return undefined;
}

function targetsOf(
  record: DeploymentRecord,
  secret: string | undefined,
): readonly SecretReference[] | Rejection {
  if (secret === undefined) return record.spec.secrets;
  const targets = record.spec.secrets.filter((entry) => entry.name === secret);
  if (targets.length > 0) return targets;
  return reject('secret_name_invalid', {
    field: 'secret',
    received: received(secret),
    expected: `one of: ${record.spec.secrets.map((entry) => entry.name).join(', ')}`,
    why: 'The deployment references no secret of this name.',
  });
}

interface Staged {
  readonly versions: Readonly<Record<string, RotatedVersions>>;
  readonly writes: readonly PlannedDocuments[];
}

/** `external` is managed elsewhere: without sent material nothing is minted, and what the store holds newest is taken. */
function newMaterial(
  admission: Admission,
  draft: RotateDraft,
  entry: SecretReference,
  existing: ReadonlyMap<string, SecretValue>,
): ReadonlyMap<string, SecretValue> | undefined {
  const sent = draft.values !== undefined || draft.generate !== undefined;
  if (!sent && entry.anchor === 'external') return undefined;
  const values = new Map(existing);
  const minted = sent ? draft.generate : { keys: [...existing.keys()] };
  for (const [key, value] of Object.entries(draft.values ?? {})) values.set(key, new SecretValue(value));
  if (minted !== undefined)
    for (const [key, value] of mintSecrets(minted as GenerateDraft, admission.secrets.policy))
      values.set(key, value);
  return values;
}

async function stage(
  admission: Admission,
  caller: Caller,
  draft: RotateDraft,
  record: DeploymentRecord,
  targets: readonly SecretReference[],
): Promise<Staged | Rejection> {
  const versions: Record<string, RotatedVersions> = {};
  const byPath = new Map<string, RotatedVersions>();
  const documents: { path: SecretPath; values: ReadonlyMap<string, SecretValue>; expectedVersion: number }[] =
    [];
  for (const entry of targets) {
    const path = splitSecretPath(entry.vault_path);
    if (path === undefined) continue;
    const known = byPath.get(secretPathText(path));
    if (known !== undefined) {
      versions[entry.name] = known;
      continue;
    }
    const document = await admission.secrets.store.read(caller.tenant.tenantId, path);
    const metadata = await admission.secrets.store.metadata(caller.tenant.tenantId, path);
    if (!metadata.ok) return secretFailureRejection(metadata, 'phase');
    if (!document.ok || !metadata.exists) {
      if (!document.ok && document.reason !== 'missing') return secretFailureRejection(document, 'phase');
      return reject('secret_not_found', {
        field: 'secret',
        received: received(entry.vault_path),
        expected: `a document at ${entry.vault_path}`,
        why: 'There is no document at this path, so there is no credential to replace; write it first.',
      });
    }
    const values = newMaterial(admission, draft, entry, document.values);
    const written = values === undefined ? {} : { written: document.version + 1 };
    const staged = stageVersions(
      { versions: metadata.versions.map((version) => version.version), ...written },
      record.rotation?.secrets?.[entry.name],
    );
    if (staged === undefined) continue;
    if (values !== undefined) documents.push({ path, values, expectedVersion: document.version });
    byPath.set(secretPathText(path), staged);
    versions[entry.name] = staged;
  }
  return {
    versions,
    writes: documents.length === 0 ? [] : [await planDocuments(admission.secrets, caller.tenant, documents)],
  };
}

function rotated(record: DeploymentRecord, rotation: RotationState, now: Date): DeploymentRecord {
  const spec = { ...record.spec, secretsVersion: record.spec.secretsVersion + 1 };
  return {
    ...record,
    spec,
    specHash: specHash(spec),
    version: record.version + 1,
    updatedAt: now.toISOString(),
    rotation,
  };
}

async function attempt(
  admission: Admission,
  caller: Caller,
  draft: RotateDraft,
  stored: Stored<DeploymentRecord>,
): Promise<Attempt> {
  const { record } = stored;
  const refused = phaseRejection(caller, record, draft.phase);
  if (refused) return refused;
  const phase = draft.phase as RotationPhase;
  const targets = targetsOf(record, draft.secret);
  if (isRejection(targets)) return targets;
  const malformed = materialRejection(admission, draft, targets);
  if (malformed) return malformed;
  const staged: Staged | Rejection =
    phase === 'stage' ? await stage(admission, caller, draft, record, targets) : { versions: {}, writes: [] };
  if (isRejection(staged)) return staged;
  const state =
    phase === 'stage'
      ? stageRotation(record.rotation, staged.versions)
      : advanceRotation(record.rotation ?? {}, phase);
  const next = rotated(record, state, admission.clock.now());
  for (const write of staged.writes) {
    const failed = await write.apply();
    if (failed) return failed;
  }
  const transaction = writeTransaction(admission, caller, next, stored, 'rotated', {
    details: { phase, secrets: targets.map((entry) => entry.name) },
  });
  for (const write of staged.writes) write.include(transaction);
  const view = storedDeploymentView(caller.tenant, { ...stored, record: next });
  const alterations = [
    {
      field: 'secretsVersion',
      from: String(record.spec.secretsVersion),
      to: String(next.spec.secretsVersion),
      why: `raised by the accepted phase ${phase}`,
    },
  ];
  const warnings = canaryWarnings(caller.tenant, record, next);
  return { answer: { status: 200, body: { ...view, alterations, warnings, removed: [] } }, transaction };
}

/** One phase of a rotation; under parallel calls the guard on the record lets exactly one be accepted (decisions §4). */
export async function rotateSecrets(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  draft: RotateDraft,
): Promise<Outcome> {
  return commitAttempts(admission, caller, async () => {
    const { stored, field } = findDeployment(caller.tenant, nameOrId);
    return stored === undefined
      ? deploymentNotFound(field, nameOrId)
      : attempt(admission, caller, draft, stored);
  });
}
