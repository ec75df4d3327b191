import { generatedKeys } from '../../../core/contract/secret-draft.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import type { CredentialRecord, CredentialRotation, MintPolicy } from '../../../core/model/credential.ts';
import type { DeploymentRecord, RotationPhase } from '../../../core/model/deployment.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import {
  beginRotation,
  mintedAfter,
  stagedCredential,
  strictestAnchor,
  waitingVersion,
} from '../../../core/secrets/credentials.ts';
import {
  advanceCredential,
  isRolled,
  moveRotation,
  pinAfter,
  refuseMove,
  type RotationConsumer,
} from '../../../core/secrets/rotation.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { checkStagedCollisions } from '../../../core/rules/secrets/collision.ts';
import { checkDocument } from '../../../core/rules/secrets/material.ts';
import { rotationRejection } from '../../../core/rules/secrets/rotation.ts';
import { secretWriteRules } from '../../../core/rules/secrets/write.ts';
import { rotationConsumers } from '../../secrets/credential-holders.ts';
import { credentialId, type CredentialWrite } from '../../secrets/credential-writes.ts';
import type { SecretValues } from '../../secrets/port.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { undeliverableStage } from './stage-deliverable.ts';
import { type Admission, type Caller, specHash } from '../admission.ts';
import { type CredentialFacts, readCredential, secretFailureRejection } from './credential-facts.ts';
import { plannedMaterial, rotationInProgress, sentValues, type SentMaterial } from './secret-material.ts';
import { knownKeys } from './secret-references.ts';

/** One credential, and the deployments that the request takes through the phase. */
export interface Move {
  readonly facts: CredentialFacts;
  readonly consumers: readonly RotationConsumer[];
  readonly moving: readonly string[];
  /** The rollout of the same phase was given up: nothing is behind that it does not bring along itself. */
  readonly isRetry?: boolean;
}

export interface PlannedMoves {
  /** By path, what the pins of the moved deployments are made from. */
  readonly rotations: ReadonlyMap<string, CredentialRotation>;
  /** By path, the records once the request is accepted. */
  readonly records: ReadonlyMap<string, CredentialRecord>;
  readonly warnings: readonly Warning[];
  readonly include: (transaction: Transaction) => void;
}

export async function readMove(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
): Promise<Omit<Move, 'moving'> | Rejection> {
  const facts = await readCredential(admission.secrets, caller.tenant, caller, path);
  if ('ok' in facts) return secretFailureRejection(facts, 'phase');
  return { facts, consumers: rotationConsumers(admission.secrets.references, caller.tenant, path) };
}

export function materialRejection(
  admission: Admission,
  phase: RotationPhase,
  material: SentMaterial,
): Rejection | undefined {
  if (material.values === undefined && material.generate === undefined) return undefined;
  if (phase !== 'stage') {
    return reject('field_unknown', {
      field: material.values === undefined ? 'generate' : 'values',
      received: '(redacted)',
      expected: 'no material with this phase',
      why: 'New material is given with stage; the other phases only move what is staged.',
    });
  }
  for (const rule of secretWriteRules) {
    const rejection = rule(material, admission.limits.secretPolicy);
    if (rejection) return rejection;
  }
  return undefined;
}

interface Staged {
  readonly values: SecretValues;
  readonly minted: Readonly<Record<string, MintPolicy>>;
}

/**
 * The document of a new rotation. Without sent material the keys that were generated are made again, and the others carried
 * over. `external` is managed elsewhere: then, or with nothing to make, what the store holds newest is taken.
 */
function newMaterial(
  { secrets }: Admission,
  caller: Caller,
  { facts: { path, record, values: existing } }: Move,
  material: SentMaterial,
): Staged | undefined {
  const sent = material.values !== undefined || material.generate !== undefined;
  const values = new Map(existing);
  const minted = record.minted ?? {};
  if (sent) {
    for (const [key, value] of sentValues(secrets, caller, path, material, existing)) values.set(key, value);
    const typed = new Set(Object.keys(material.values ?? {}));
    return { values, minted: mintedAfter(minted, values.keys(), generatedKeys(material.generate), typed) };
  }
  const anchor = strictestAnchor(secrets.references.anchors(caller.tenant.tenantId, path), record.hooks);
  const again = Object.entries(minted).filter(([key]) => existing.has(key));
  if (anchor === 'external' || again.length === 0) return undefined;
  for (const [key, value] of secrets.writes.mint(caller, path, new Map(again), secrets.policy, existing))
    values.set(key, value);
  return { values, minted };
}

function missingDocument(path: SecretPath): Rejection {
  const text = secretPathText(path);
  return reject('secret_not_found', {
    field: 'secret',
    received: received(text),
    expected: `a document at ${text}`,
    why: 'There is no document at this path, so there is no credential to replace; write it first.',
  });
}

function consumersAfter(move: Move, phase: RotationPhase, rotation: CredentialRotation): RotationConsumer[] {
  return move.consumers.map((consumer) => {
    if (!isRolled(consumer) || !move.moving.includes(consumer.name)) return consumer;
    const { pin: _before, ...rest } = consumer;
    const pin = pinAfter(rotation, phase);
    return { ...rest, ...(pin && { pin }) };
  });
}

interface Decided {
  readonly rotations: Map<string, CredentialRotation>;
  readonly records: Map<string, CredentialRecord>;
  readonly writes: CredentialWrite[];
  readonly warnings: Warning[];
}

function refusalOf(move: Move, phase: RotationPhase): Rejection | undefined {
  const { facts, consumers, moving } = move;
  const movers = consumers.filter((one) => isRolled(one) && moving.includes(one.name));
  const refusal = refuseMove(facts.record.rotation, phase, movers, consumers);
  return refusal && rotationRejection(refusal, phase);
}

/** A version that another hand wrote during the rotation waits for the next one. */
function waitingWarnings({ facts }: Move): Warning[] {
  const text = secretPathText(facts.path);
  const waiting = facts.record.rotation && waitingVersion(facts.record, facts.versions);
  if (waiting === undefined) return [];
  const why = `Version ${waiting} of ${text} was written by another hand during this rotation; it is not delivered before the rotation that stages it.`;
  return [{ code: 'secret_version_waiting', field: 'phase', why }];
}

/** Jobs have nothing to stage: each run receives what is in service. */
function sharedWarnings(move: Move): Warning[] {
  const others = move.consumers
    .filter((one) => isRolled(one) && !move.moving.includes(one.name))
    .map(({ name }) => name);
  if (others.length === 0) return [];
  const text = secretPathText(move.facts.path);
  const why = `${text} is also read by ${others.join(', ')}; they receive what is in service until they stage too. POST /api/v1/secrets/${text}/rotate takes all of them.`;
  return [{ code: 'secret_shared', field: 'phase', why }];
}

function decideStage(
  admission: Admission,
  caller: Caller,
  move: Move,
  material: SentMaterial,
  decided: Decided,
): Rejection | undefined {
  const { facts } = move;
  const { path, record, versions, newest } = facts;
  const text = secretPathText(path);
  decided.warnings.push(...sharedWarnings(move));
  const running = record.rotation;
  if (running !== undefined) {
    if (material.values ?? material.generate) return rotationInProgress(path, 'phase');
    decided.rotations.set(text, running);
    decided.records.set(text, record);
    return undefined;
  }
  if (facts.inService === 0) return missingDocument(path);
  const made = newMaterial(admission, caller, move, material);
  if (made === undefined) {
    const rotation = beginRotation(record, { versions });
    if (rotation.next === rotation.previous) {
      const why = `${text} holds nothing newer than version ${rotation.next}: this rotation delivers the same material under both names.`;
      decided.warnings.push({ code: 'secret_nothing_newer', field: 'phase', why });
    }
    decided.rotations.set(text, rotation);
    decided.records.set(text, stagedCredential(record, rotation, newest));
    return undefined;
  }
  const isSent = material.values !== undefined || material.generate !== undefined;
  const tooLarge = checkDocument(
    facts.values,
    made.values,
    isSent ? 'values' : 'phase',
    admission.secrets.policy,
  );
  if (tooLarge) return tooLarge;
  decided.writes.push({
    path,
    values: made.values,
    expectedVersion: newest,
    stored: facts.stored,
    settle: (before, version) => {
      const rotation = beginRotation(before, { versions, written: version });
      return { ...stagedCredential(before, rotation, newest), minted: made.minted };
    },
  });
  return undefined;
}

/**
 * Decides a phase for every credential of a request, all or nothing. A remote store is written here, after every rule has
 * been asked; the records are put with the transaction, also where they stay as they are: of two that move consumers of one
 * credential at once, the second has to decide again.
 */
export async function planMoves(
  admission: Admission,
  caller: Caller,
  phase: RotationPhase,
  moves: readonly Move[],
  material: SentMaterial,
): Promise<PlannedMoves | Rejection> {
  const decided: Decided = { rotations: new Map(), records: new Map(), writes: [], warnings: [] };
  for (const move of moves) {
    const refused = move.isRetry === true ? undefined : refusalOf(move, phase);
    if (refused) return refused;
    decided.warnings.push(...waitingWarnings(move));
    if (phase === 'stage') {
      const rejection =
        decideStage(admission, caller, move, material, decided) ??
        (await undeliverableStage(
          admission,
          caller,
          move.facts,
          decided.rotations.get(secretPathText(move.facts.path)),
        ));
      if (rejection) return rejection;
      continue;
    }
    const { facts } = move;
    const text = secretPathText(facts.path);
    const { rotation } = facts.record;
    if (rotation === undefined) continue;
    const after = consumersAfter(move, phase, rotation);
    decided.rotations.set(text, rotation);
    decided.records.set(text, advanceCredential(facts.record, phase, after, facts.newest));
  }
  const collision = phase === 'stage' ? await stagedCollision(admission, caller, moves, material) : undefined;
  return collision ?? applyMoves(admission, caller, moves, decided);
}

/** The names that the rotation adds, in every deployment that it takes along. */
async function stagedCollision(
  { secrets }: Admission,
  { tenant }: Caller,
  moves: readonly Move[],
  material: SentMaterial,
): Promise<Rejection | undefined> {
  const staged = new Map(
    moves.map(({ facts }) => [
      secretPathText(facts.path),
      [
        ...facts.values.keys(),
        ...Object.keys(material.values ?? {}),
        ...generatedKeys(material.generate).keys(),
      ],
    ]),
  );
  for (const name of new Set(moves.flatMap(({ moving }) => moving))) {
    const spec = tenant.get('deployments', idOf('deployments', name))?.record.spec;
    if (spec === undefined) continue;
    const known = new Map([...(await knownKeys(secrets, tenant, spec)).keys, ...staged]);
    const rejection = checkStagedCollisions(spec, known, new Set(staged.keys()));
    if (rejection) return rejection;
  }
  return undefined;
}

async function applyMoves(
  admission: Admission,
  caller: Caller,
  moves: readonly Move[],
  { rotations, records, writes, warnings }: Decided,
): Promise<PlannedMoves | Rejection> {
  const planned = plannedMaterial(admission.secrets, caller, writes);
  const failed = await planned.apply();
  if (failed) return failed;
  const unwritten = new Map(records);
  for (const { path, settle } of writes) {
    const { record } = moves.find(({ facts }) => facts.path === path)?.facts ?? {};
    if (record === undefined) continue;
    const after = settle(record, planned.version(path));
    records.set(secretPathText(path), after);
    if (after.rotation !== undefined) rotations.set(secretPathText(path), after.rotation);
  }
  return {
    rotations,
    records,
    warnings,
    include: (transaction) => {
      planned.include(transaction);
      for (const { facts } of moves) {
        const record = unwritten.get(secretPathText(facts.path));
        if (record === undefined) continue;
        const id = credentialId(facts.path);
        transaction.expect('credentials', id, facts.stored).put('credentials', id, record);
      }
    },
  };
}

/** The deployment after the phase; the counter rolls its instances. */
export function movedDeployment(
  record: DeploymentRecord,
  phase: RotationPhase,
  rotations: ReadonlyMap<string, CredentialRotation>,
  now: Date,
): DeploymentRecord {
  const spec = { ...record.spec, secretsVersion: record.spec.secretsVersion + 1 };
  return {
    ...record,
    spec,
    specHash: specHash(spec),
    version: record.version + 1,
    updatedAt: now.toISOString(),
    rotation: moveRotation(record.rotation, record.spec.secrets, phase, rotations),
  };
}
