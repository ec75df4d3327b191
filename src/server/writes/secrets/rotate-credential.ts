import { type rotateCredentialBody } from '../../../core/contract/secret-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import {
  type CredentialRecord,
  type CredentialRotation,
  nextOfCredential,
} from '../../../core/model/credential.ts';
import type { DeploymentRecord, RotationPhase } from '../../../core/model/deployment.ts';
import type { CredentialHooks } from '../../../core/model/rotation-hook.ts';
import { ROTATION_PHASES, stepOf } from '../../../core/model/rotation-phase.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { isRolled, type RotationConsumer } from '../../../core/secrets/rotation.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { rotationRejection } from '../../../core/rules/secrets/rotation.ts';
import type { SECRETS } from '../../../core/operations/secrets.ts';
import { credentialId } from '../../secrets/credential-writes.ts';
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
import { canaryWarnings } from '../deployments/canary-stored.ts';
import type { CredentialFacts } from './credential-facts.ts';
import { writeTransaction } from '../deployments/deployment-write.ts';
import { isFailedRollout, transitionInvalid } from './rotate-secrets.ts';
import { awaitHooks, type HookWait } from './rotation-hooks.ts';
import { materialRejection, movedDeployment, planMoves, readMove } from './rotation-moves.ts';
import type { SentMaterial } from './secret-material.ts';
import { secretPathRejection, versionsOf } from './write-secret.ts';

type Deployments = ReadonlyMap<string, Stored<DeploymentRecord>>;

/** More would not fit into one commit of etcd. */
const MAX_TOGETHER = 18;

interface Moving {
  readonly moving: readonly string[];
  readonly isRetry: boolean;
}

/** The deployments that the phase moves; for a phase out of order, the one that is due. */
function movingOf(
  caller: Caller,
  phase: RotationPhase,
  rotation: CredentialRotation | undefined,
  consumers: readonly RotationConsumer[],
  deployments: Deployments,
): Moving | Rejection {
  const within = (step: ReturnType<typeof stepOf>) =>
    consumers
      .filter(({ name, pin }) => deployments.has(name) && stepOf(pin) === step)
      .map(({ name }) => name);
  const [idle, staged, promoted] = [within(undefined), within('staged'), within('promoted')];
  const next = nextOfCredential(rotation);
  const failed = { stage: staged, promote: promoted, retire: [], abort: [] }[phase].filter((name) => {
    const record = deployments.get(name)?.record;
    return record !== undefined && isFailedRollout(caller, record, phase);
  });
  if (rotation !== undefined && failed.length > 0) return { moving: failed, isRetry: true };
  const inOrder = (moving: readonly string[]): Moving => ({ moving, isRetry: false });
  if (phase === 'stage' && (rotation === undefined || (next === 'promote' && idle.length > 0)))
    return inOrder(idle);
  if (phase === 'abort' && rotation !== undefined) return inOrder([...staged, ...promoted]);
  if (phase !== next)
    return transitionInvalid(
      phase,
      next,
      `The next phase of this credential is ${next}${rotation === undefined ? '' : ', or abort'}.`,
    );
  if (phase === 'retire') return inOrder(promoted);
  if (idle.length === 0) return inOrder(staged);
  const behind = idle.map((workload) => ({ workload, instances: [], why: 'has not taken part in stage' }));
  return rotationRejection(
    {
      reason: 'rollout_incomplete',
      until: 'promote, after stage was asked for again, which takes them along',
      behind,
    },
    phase,
  );
}

function deploymentsOf({ tenant }: Caller, consumers: readonly RotationConsumer[]): Deployments {
  return new Map(
    consumers.filter(isRolled).flatMap(({ name }) => {
      const stored = tenant.get('deployments', idOf('deployments', name));
      return stored === undefined ? [] : [[name, stored] as const];
    }),
  );
}

const accepted = acceptedOf<typeof SECRETS.rotate>();

async function attempt(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  draft: Draft<typeof rotateCredentialBody>,
): Promise<Attempt<typeof SECRETS.rotate>> {
  const read = await readMove(admission, caller, path);
  if (isRejection(read)) return read;
  const { facts, consumers } = read;
  const { rotation } = facts.record;
  const phase = ROTATION_PHASES.find((one) => one === draft.phase);
  if (phase === undefined) {
    const next = nextOfCredential(rotation);
    return transitionInvalid(
      draft.phase,
      next,
      `The phases are ${ROTATION_PHASES.join(', ')}; the next is ${next}.`,
    );
  }
  const deployments = deploymentsOf(caller, consumers);
  const moved = movingOf(caller, phase, rotation, consumers, deployments);
  if (isRejection(moved)) return moved;
  const { moving, isRetry } = moved;
  if (moving.length > MAX_TOGETHER) return tooMany(phase, path, moving.length, facts.record.hooks);
  const material: SentMaterial = draft;
  const malformed = materialRejection(admission, phase, material);
  if (malformed) return malformed;
  const planned = await planMoves(admission, caller, phase, [{ ...read, moving, isRetry }], material);
  if (isRejection(planned)) return planned;
  const transaction = caller.tenant.transaction();
  const retry = draft.retryHook === true;
  const wait = rotation && (await awaitHooks(admission, caller, { facts, rotation, phase, retry }));
  if (isRejection(wait)) return wait;
  if (wait !== undefined) return waitAnswer(path, facts, wait, transaction);
  const warnings: Warning[] = [...planned.warnings];
  const after = moving.flatMap((name) => {
    const stored = deployments.get(name);
    if (stored === undefined) return [];
    const next = movedDeployment(stored.record, phase, planned.rotations, admission.clock.now());
    const details = { phase, credential: secretPathText(path) };
    transaction.include(writeTransaction(admission, caller, next, stored, 'rotated', { details }).toCommit());
    warnings.push(...canaryWarnings(caller.tenant, stored.record, next));
    return { deployment: name, secretsVersion: next.spec.secretsVersion };
  });
  planned.include(transaction);
  const record = planned.records.get(secretPathText(path)) ?? facts.record;
  tell(admission, caller, path, phase, record, moving, transaction);
  const body = {
    path: secretPathText(path),
    phase,
    next: nextOfCredential(record.rotation),
    version: record.current,
    ...(record.rotation && { rotation: versionsOf(record.rotation) }),
    consumers: after,
    alterations: [],
    warnings,
    removed: [],
  };
  return { answer: accepted(200, body), transaction };
}

/** The phase is not accepted yet; what it waits for is. Asked for again, it goes on from there. */
function waitAnswer(
  path: SecretPath,
  { stored }: CredentialFacts,
  { record, view, include }: HookWait,
  transaction: Transaction,
): Attempt<typeof SECRETS.rotate> {
  const { rotation } = record;
  const body = {
    path: secretPathText(path),
    phase: rotation?.phase === 'staged' ? ('stage' as const) : ('promote' as const),
    next: nextOfCredential(rotation),
    version: record.current,
    ...(rotation && { rotation: versionsOf(rotation) }),
    hook: view,
    consumers: [],
    alterations: [],
    warnings: [],
    removed: [],
  };
  const answer = accepted(200, body);
  if (include === undefined) return { answer };
  const id = credentialId(path);
  include(transaction.expect('credentials', id, stored).put('credentials', id, record));
  return { answer, transaction };
}

function tooMany(
  phase: RotationPhase,
  path: SecretPath,
  count: number,
  hooks: CredentialHooks | undefined,
): Rejection {
  const oneByOne = `${phase} of the deployments one by one: POST /api/v1/deployments/{name}/secrets/rotate`;
  return transitionInvalid(
    phase,
    hooks === undefined
      ? oneByOne
      : `${oneByOne}, after the hooks were removed (PUT /api/v1/secrets/${secretPathText(path)}/hooks with {}) and with their jobs run by hand; or fewer deployments that share it`,
    `${secretPathText(path)} is read by ${count} deployments, and at most ${MAX_TOGETHER} are moved in one commit.`,
  );
}

function tell(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  phase: RotationPhase,
  { current, rotation }: CredentialRecord,
  consumers: readonly string[],
  transaction: ReturnType<Caller['tenant']['transaction']>,
): void {
  const subject = { kind: 'Secret', name: secretPathText(path) } as const;
  admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'secret.rotated', subject);
  admission.journal.event(transaction, caller.tenant.tenantId, {
    kind: 'secret.rotated',
    subject,
    message: `${subject.name}: ${phase} accepted for ${consumers.length === 0 ? 'no deployment' : consumers.join(', ')}; version ${current} is in service`,
    details: { phase, version: current, consumers, ...(rotation && versionsOf(rotation)) },
  });
}

/** One phase of the whole credential: all its consumers in one commit, or none. */
export async function rotateCredential(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  draft: Draft<typeof rotateCredentialBody>,
): Promise<Outcome<typeof SECRETS.rotate>> {
  const malformed = secretPathRejection(admission.limits.secretPolicy.namespaces, path);
  if (malformed) return malformed;
  return commitAttempts(admission, caller, () => attempt(admission, caller, path, draft));
}
