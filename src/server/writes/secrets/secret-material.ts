import type { DeploymentDraft } from '../../../core/contract/deployment-body.ts';
import type { SecretEntryDraft } from '../../../core/contract/workload/secrets.ts';
import { type GenerateDraft, generatedKeys } from '../../../core/contract/secret-draft.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import type { MintPolicy } from '../../../core/model/credential.ts';
import type { Workload } from '../../../core/model/deployment.ts';
import { allows, rolesThatMay } from '../../../core/model/permission.ts';
import { parseAnchor } from '../../../core/model/secret-anchor.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../../core/model/secret-path.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import {
  HOOKED,
  mintedAfter,
  strictestAnchor,
  writtenCredential,
} from '../../../core/secrets/credentials.ts';
import { checkDocument } from '../../../core/rules/secrets/material.ts';
import { redacted } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Principal } from '../../access/principal.ts';
import type { CredentialWrite, PlannedWrites } from '../../secrets/credential-writes.ts';
import type { SecretValues } from '../../secrets/port.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  type CredentialFacts,
  readCredential,
  type SecretAdmission,
  secretFailureRejection,
  writeRefusalRejection,
} from './credential-facts.ts';

/**
 * Only this workload reads the document; or none does, where the namespace belongs to workloads. Elsewhere a workload brought it along, too: to refer
 * to what somebody put there makes nobody its owner.
 */
function isOwnDocument(
  { references }: SecretAdmission,
  tenant: TenantStore,
  { path, record }: CredentialFacts,
  workload: Workload,
): boolean {
  const { namespace, label } = path;
  if (namespace !== 'deployments' && (record.shared === true || record.current === 0)) return false;
  if (references.webhooks(tenant.tenantId, path).length > 0) return false;
  const consumers = references.consumers(tenant.tenantId, label);
  if (consumers.length === 0) return namespace === 'deployments';
  return consumers.every(({ owner }) => owner === workload.name);
}

/**
 * A role that deploys brings new documents along and renews those that its workload alone reads. To write a document that
 * others read, or that was put there for others to read, is a secret write, and no workload is a way around its permission.
 */
function roleRejection(
  secrets: SecretAdmission,
  { tenant, principal }: MaterialCaller,
  facts: CredentialFacts,
  workload: Workload,
  field: string,
): Rejection | undefined {
  if (principal === undefined || allows(principal.role, 'secrets.write')) return undefined;
  if (isOwnDocument(secrets, tenant, facts, workload)) return undefined;
  const text = secretPathText(facts.path);
  return reject('role_forbidden', {
    field,
    received: principal.role,
    expected: `a reference to ${text} without material, or a document of its own; the roles ${rolesThatMay(['secrets.write']).join(', ')} may write ${text}`,
    why: `${text} exists and is not this workload's alone; the role ${principal.role} does not write such documents (secrets.write).`,
  });
}

export interface PlannedMaterial {
  readonly alterations: readonly Alteration[];
  /** Once nothing refuses the request any more: our own store shares its commit, a remote one is written here. */
  readonly apply: () => Promise<Rejection | undefined> | undefined;
  readonly include: (transaction: Transaction) => void;
}

export interface MaterialCaller {
  readonly tenant: TenantStore;
  /** Absent: the control plane itself. */
  readonly principal?: Principal;
}

/** Material of a request: what it sends, and what it lets the control plane make. */
export interface SentMaterial {
  readonly values?: Readonly<Record<string, string>>;
  readonly generate?: GenerateDraft;
}

export function sentValues(
  { writes, policy }: SecretAdmission,
  request: object,
  path: SecretPath,
  { values, generate }: SentMaterial,
  inService: SecretValues,
): Map<string, SecretValue> {
  const sent = new Map<string, SecretValue>();
  for (const [key, value] of Object.entries(values ?? {})) sent.set(key, new SecretValue(value));
  const made = writes.mint(request, path, generatedKeys(generate), policy, inService);
  return new Map([...sent, ...made]);
}

export function plannedMaterial(
  secrets: SecretAdmission,
  caller: MaterialCaller,
  writes: readonly CredentialWrite[],
  alterations: readonly Alteration[] = [],
): PlannedMaterial & { readonly version: (path: SecretPath) => number } {
  let planned: PlannedWrites | undefined;
  const apply = async (): Promise<Rejection | undefined> => {
    const outcome = await secrets.writes.plan(caller.tenant, caller, writes);
    if ('ok' in outcome) return writeRefusalRejection(outcome, 'secrets');
    planned = outcome;
    return undefined;
  };
  return {
    alterations,
    apply: () => (writes.length === 0 ? undefined : apply()),
    include: (transaction) => planned?.include(transaction),
    version: (path) => planned?.versions.get(secretPathText(path)) ?? 0,
  };
}

export function rotationInProgress(path: SecretPath, field: string): Rejection {
  const text = secretPathText(path);
  return reject('secret_rotation_in_progress', {
    field,
    received: '(redacted)',
    expected: `no material for ${text} until its rotation ends with retire or abort`,
    why: `${text} is being rotated; a version in between would be known to no consumer.`,
  });
}

/** A key that data on a mounted volume depends on is not replaced by a plain write. */
export function overwritesAnchored(
  anchor: string | undefined,
  path: SecretPath,
  before: SecretValues,
  after: SecretValues,
  field: string,
): Rejection | undefined {
  if (anchor === undefined || (anchor !== HOOKED && parseAnchor(anchor)?.kind !== 'volume')) return undefined;
  const lost = [...before].filter(([key, value]) => after.get(key)?.reveal() !== value.reveal());
  if (lost.length === 0) return undefined;
  const text = secretPathText(path);
  return reject('anchored_secret_overwritten', {
    field,
    received: '(redacted)',
    expected: `the stored value of ${lost.map(([key]) => key).join(', ')}; to change it: POST /api/v1/secrets/${text}/rotate {"phase": "stage"} with the new material`,
    why:
      anchor === HOOKED
        ? `${text} has hooks, which made this material valid outside; it changes with its rotation only.`
        : `A consumer of ${text} anchors it to ${anchor}, which is mounted and was made with this material.`,
  });
}

interface Merged {
  readonly values: SecretValues;
  readonly written: readonly string[];
  readonly kept: readonly string[];
}

/** `process` may be minted again; `external` and `volume(…)` keep every key that exists. */
function mergeMaterial(sent: SecretValues, replaceable: boolean, existing: SecretValues): Merged {
  const values = new Map(existing);
  const written: string[] = [];
  const kept: string[] = [];
  for (const [key, value] of sent) {
    if (existing.has(key) && !replaceable) {
      kept.push(key);
    } else {
      values.set(key, value);
      written.push(key);
    }
  }
  return { values, written, kept };
}

function announcements(
  index: number,
  entry: SecretEntryDraft,
  path: SecretPath,
  anchor: string | undefined,
  { written, kept }: Merged,
): Alteration[] {
  const clauses = [
    ...(written.length === 0 ? [] : [`written to ${secretPathText(path)}: ${written.join(', ')}`]),
    ...(kept.length === 0
      ? []
      : [
          `kept as stored, because the anchor is ${anchor}: ${kept.join(', ')}; use the rotate operation to change them`,
        ]),
  ];
  const stripped = (field: 'values' | 'generate', value: unknown): Alteration => ({
    field: `secrets[${index}].${field}`,
    from: redacted(value),
    to: '(absent)',
    why: ['write-time only, never stored with the deployment', ...clauses].join('; '),
  });
  return [
    ...(entry.values === undefined ? [] : [stripped('values', entry.values)]),
    ...(entry.generate === undefined ? [] : [stripped('generate', entry.generate)]),
  ];
}

interface Planned {
  readonly facts: CredentialFacts;
  values: SecretValues;
  minted: Readonly<Record<string, MintPolicy>>;
  changed: boolean;
}

/** Of a workload that sends none. */
const NO_MATERIAL: PlannedMaterial = { alterations: [], apply: () => undefined, include: () => {} };

/** What the write of a workload will put into the secrets store, and how that is announced. Nothing is written yet. */
export function planMaterial(
  secrets: SecretAdmission,
  caller: MaterialCaller,
  draft: Pick<DeploymentDraft, 'secrets'>,
  workload: Workload,
  /** A canary runs beside what is stored under its name; anything else replaces it. */
  { beside = false }: { readonly beside?: boolean } = {},
): Promise<PlannedMaterial | Rejection> | PlannedMaterial {
  return draft.secrets === undefined || draft.secrets.length === 0
    ? NO_MATERIAL
    : sentMaterial(secrets, caller, draft, workload, beside);
}

async function sentMaterial(
  secrets: SecretAdmission,
  caller: MaterialCaller,
  draft: Pick<DeploymentDraft, 'secrets'>,
  workload: Workload,
  beside: boolean,
): Promise<PlannedMaterial | Rejection> {
  const { tenant } = caller;
  const planned = new Map<string, Planned>();
  const alterations: Alteration[] = [];
  const except = beside ? undefined : workload.name;
  for (const [index, entry] of (draft.secrets ?? []).entries()) {
    if (entry.values === undefined && entry.generate === undefined) continue;
    const path = splitSecretPath(entry.vault_path ?? '');
    if (path === undefined) continue;
    const text = secretPathText(path);
    const facts = planned.get(text)?.facts ?? (await readCredential(secrets, tenant, caller, path));
    if ('ok' in facts) return secretFailureRejection(facts, 'secrets');
    const plan = planned.get(text) ?? {
      facts,
      values: facts.values,
      minted: facts.record.minted ?? {},
      changed: false,
    };
    planned.set(text, plan);
    const own = (draft.secrets ?? []).filter((one) => one.vault_path === text).map(({ anchor }) => anchor);
    const anchors = [...own, ...secrets.references.anchors(tenant.tenantId, path, except)];
    const anchor = strictestAnchor(anchors, facts.record.hooks);
    const field = `secrets[${index}].${entry.values === undefined ? 'generate' : 'values'}`;
    const sent = sentValues(secrets, caller, path, entry, plan.values);
    const given = new Map([...plan.values, ...sentValues(secrets, caller, path, pick(entry), plan.values)]);
    const overwritten = overwritesAnchored(anchor, path, plan.values, given, field);
    if (overwritten) return overwritten;
    const merged = mergeMaterial(sent, anchor === 'process', plan.values);
    if (merged.written.length > 0) {
      if (facts.record.rotation !== undefined) return rotationInProgress(path, field);
      // Judged by the version that the write expects: what is put there meanwhile fails it.
      const forbidden = facts.newest > 0 ? roleRejection(secrets, caller, facts, workload, field) : undefined;
      if (forbidden) return forbidden;
      const tooLarge = checkDocument(plan.values, merged.values, field, secrets.policy);
      if (tooLarge) return tooLarge;
      const made = [...generatedKeys(entry.generate)].filter(([key]) => merged.written.includes(key));
      const typed = Object.keys(entry.values ?? {}).filter((key) => merged.written.includes(key));
      plan.values = merged.values;
      plan.minted = mintedAfter(plan.minted, merged.values.keys(), new Map(made), new Set(typed));
      plan.changed = true;
    }
    alterations.push(...announcements(index, entry, path, anchor, merged));
  }
  const writes = [...planned.values()].filter(({ changed }) => changed).map(writeOf);
  return plannedMaterial(secrets, caller, writes, alterations);
}

function pick(entry: SecretEntryDraft): SentMaterial {
  return entry.values === undefined ? {} : { values: entry.values };
}

function writeOf({ facts, values, minted }: Planned): CredentialWrite {
  return {
    path: facts.path,
    values,
    expectedVersion: facts.newest,
    stored: facts.stored,
    settle: (record, version) => writtenCredential(record, version, minted),
  };
}
