import { type rotateBody } from '../../../core/contract/secret-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { DeploymentRecord, RotationPhase, SecretReference } from '../../../core/model/deployment.ts';
import { nextRotationPhase, ROTATION_PHASES, stepOf } from '../../../core/model/rotation-phase.ts';
import { splitSecretPath } from '../../../core/model/secret-path.ts';
import { pinsByPath } from '../../../core/secrets/rotation.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { SECRETS } from '../../../core/operations/secrets.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import { rolloutOf } from '../../store/rollout-row.ts';
import {
  acceptedOf,
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
} from '../admission.ts';
import { canaryWarnings } from '../deployments/canary-stored.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { deploymentNotFound, writeTransaction } from '../deployments/deployment-write.ts';
import { materialRejection, type Move, movedDeployment, planMoves, readMove } from './rotation-moves.ts';
import type { SentMaterial } from './secret-material.ts';

type RotateDraft = Draft<typeof rotateBody>;

export function transitionInvalid(phase: unknown, expected: string, why: string): Rejection {
  return reject('rotation_transition_invalid', { field: 'phase', received: received(phase), expected, why });
}

function targetsOf(
  record: DeploymentRecord,
  secret: string | undefined,
): readonly SecretReference[] | Rejection {
  if (secret === undefined) return record.spec.secrets;
  const named = record.spec.secrets.find((entry) => entry.name === secret);
  // Entries of one document move together.
  if (named !== undefined)
    return record.spec.secrets.filter(({ vault_path }) => vault_path === named.vault_path);
  return reject('secret_name_invalid', {
    field: 'secret',
    received: received(secret),
    expected: `one of: ${record.spec.secrets.map((entry) => entry.name).join(', ')}`,
    why: 'The deployment references no secret of this name.',
  });
}

/** The last phase may be asked for again where its rollout was given up. */
export function isFailedRollout(
  { tenant }: Caller,
  { spec, specHash, rotation }: DeploymentRecord,
  phase: unknown,
): boolean {
  const rollout = rolloutOf(tenant, idOf('rollouts', spec.name))?.record;
  return rotation?.phase === phase && rollout?.state === 'failed' && rollout.specHash === specHash;
}

interface MovedPaths {
  readonly paths: readonly string[];
  readonly isRetry: boolean;
}

/** The documents that the phase moves here; for a phase out of order, the one that is due. */
function movedPaths(
  caller: Caller,
  record: DeploymentRecord,
  phase: RotationPhase,
  targets: readonly SecretReference[],
): MovedPaths | Rejection {
  const { rotation } = record;
  const paths = [...new Set(targets.map(({ vault_path }) => vault_path))];
  const within = (step: ReturnType<typeof stepOf>) =>
    paths.filter((path) => stepOf(pinsByPath(rotation, targets).get(path)) === step);
  const [idle, staged, promoted] = [within(undefined), within('staged'), within('promoted')];
  const pins = Object.fromEntries(pinsByPath(rotation, targets));
  const next = nextRotationPhase({ secrets: pins });
  const inOrder = {
    stage: staged.length + promoted.length === 0 ? idle : [],
    promote: staged,
    retire: staged.length === 0 ? promoted : [],
    abort: [...staged, ...promoted],
  }[phase];
  if (inOrder.length > 0) return { paths: inOrder, isRetry: false };
  const again = { stage: staged, promote: promoted, retire: [], abort: [] }[phase];
  if (again.length > 0 && isFailedRollout(caller, record, phase)) return { paths: again, isRetry: true };
  const why =
    next === 'stage'
      ? 'No rotation is under way; it begins with stage.'
      : `The last accepted phase is ${rotation?.phase}; the next is ${next}, or abort.`;
  return transitionInvalid(phase, next, why);
}

async function movesOf(
  admission: Admission,
  caller: Caller,
  record: DeploymentRecord,
  { paths, isRetry }: MovedPaths,
): Promise<readonly Move[] | Rejection> {
  const moves: Move[] = [];
  for (const text of paths) {
    const path = splitSecretPath(text);
    if (path === undefined) continue;
    const read = await readMove(admission, caller, path);
    if (isRejection(read)) return read;
    if (read.facts.record.hooks !== undefined) return wholeOnly(text, record);
    moves.push({ ...read, moving: [record.spec.name], isRetry });
  }
  return moves;
}

/** A hook changes what is valid for all consumers, so none goes through a phase alone. */
function wholeOnly(path: string, { spec }: DeploymentRecord): Rejection {
  return reject('rotation_whole_credential', {
    field: 'secret',
    received: received(path),
    expected: `POST /api/v1/secrets/${path}/rotate, which takes every consumer along`,
    why: `${path} has hooks, which run for all its consumers at once; ${spec.name} cannot rotate it alone.`,
  });
}

function phaseOf(record: DeploymentRecord, phase: unknown): RotationPhase | Rejection {
  if (record.spec.secrets.length === 0) {
    return transitionInvalid(
      phase,
      'a deployment that references a secret',
      `${record.spec.name} references no secret, so there is nothing to rotate.`,
    );
  }
  const known = ROTATION_PHASES.find((one) => one === phase);
  const next = nextRotationPhase(record.rotation);
  return (
    known ??
    transitionInvalid(phase, next, `The phases are ${ROTATION_PHASES.join(', ')}; the next is ${next}.`)
  );
}

const accepted = acceptedOf<typeof SECRETS.rotateDeployment>();

async function attempt(
  admission: Admission,
  caller: Caller,
  draft: RotateDraft,
  stored: Stored<DeploymentRecord>,
): Promise<Attempt<typeof SECRETS.rotateDeployment>> {
  const { record } = stored;
  const phase = phaseOf(record, draft.phase);
  if (isRejection(phase)) return phase;
  const targets = targetsOf(record, draft.secret);
  if (isRejection(targets)) return targets;
  const moved = movedPaths(caller, record, phase, targets);
  if (isRejection(moved)) return moved;
  const material: SentMaterial = draft;
  const malformed = severalRejection(material, targets) ?? materialRejection(admission, phase, material);
  if (malformed) return malformed;
  const moves = await movesOf(admission, caller, record, moved);
  if (isRejection(moves)) return moves;
  const planned = await planMoves(admission, caller, phase, moves, material);
  if (isRejection(planned)) return planned;
  const next = movedDeployment(record, phase, planned.rotations, admission.clock.now());
  const transaction = writeTransaction(admission, caller, next, stored, 'rotated', {
    details: { phase, secrets: targets.map((entry) => entry.name) },
  });
  planned.include(transaction);
  const view = storedDeploymentView(admission, caller.tenant, { ...stored, record: next });
  const alterations = [
    {
      field: 'secretsVersion',
      from: String(record.spec.secretsVersion),
      to: String(next.spec.secretsVersion),
      why: `raised by the accepted phase ${phase}`,
    },
  ];
  const warnings = [...planned.warnings, ...canaryWarnings(caller.tenant, record, next)];
  return { answer: accepted(200, { ...view, alterations, warnings, removed: [] }), transaction };
}

function severalRejection(
  { values, generate }: SentMaterial,
  targets: readonly SecretReference[],
): Rejection | undefined {
  const sent = values !== undefined || generate !== undefined;
  if (!sent || new Set(targets.map((entry) => entry.vault_path)).size < 2) return undefined;
  return reject('secret_name_invalid', {
    field: 'secret',
    received: '(absent)',
    expected: `one of: ${targets.map((entry) => entry.name).join(', ')}`,
    why: 'Material belongs to one credential; say which entry it is for.',
  });
}

/** One phase of a rotation; under parallel calls the guard on the record lets exactly one be accepted. */
export async function rotateSecrets(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  draft: RotateDraft,
): Promise<Outcome<typeof SECRETS.rotateDeployment>> {
  return commitAttempts(admission, caller, async () => {
    const { stored, field } = findDeployment(caller.tenant, nameOrId);
    return stored === undefined
      ? deploymentNotFound(field, nameOrId)
      : attempt(admission, caller, draft, stored);
  });
}
