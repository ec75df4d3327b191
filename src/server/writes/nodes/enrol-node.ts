import { createPublicKey } from 'node:crypto';
import { type nodeBody } from '../../../core/contract/node-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import { type NodeName, nodeName, type TokenId, tokenId } from '../../../core/model/ids.ts';
import { NODE_LABELS } from '../../../core/model/labels.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import type { TokenRecord } from '../../../core/model/tenant.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { foldCountry, nodeDescription, nodeLabelsRule, nodeNameRule } from '../../../core/rules/node.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { joinTokenInvalid } from '../../access/authenticate.ts';
import { hashSecret, mintToken } from '../../access/token.ts';
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
import type { NodeAdmission } from './node-admission.ts';
import { nodeView } from '../../reads/node.ts';

const MAX_KEY_TEXT = 1024;

type NodeDraft = Draft<typeof nodeBody>;
type Described = Pick<
  NodeRecord,
  'labels' | 'capacity' | 'platform' | 'engine' | 'agentVersion' | 'publicKey'
> & { readonly name: NodeName };

/** The same key in one spelling, so that comparing texts compares keys. */
function canonicalKey(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_KEY_TEXT) return undefined;
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519'
      ? key.export({ format: 'der', type: 'spki' }).toString('base64')
      : undefined;
  } catch {
    return undefined;
  }
}

function describe(admission: Admission, body: NodeDraft): Described | Rejection {
  const misnamed = nodeNameRule(body.nodeName);
  if (misnamed) return misnamed;
  const labels = foldCountry(body.labels ?? {});
  const mislabelled = nodeLabelsRule(labels, admission.residency.regions);
  if (mislabelled) return mislabelled;
  const description = nodeDescription(body);
  if (isRejection(description)) return description;
  const publicKey = canonicalKey(body.publicKey);
  if (publicKey === undefined) {
    return reject('node_invalid', {
      field: 'publicKey',
      received: received(body.publicKey),
      expected: 'an Ed25519 public key, base64 of its SPKI form',
      why: 'The key is the identity of the machine.',
    });
  }
  return { name: nodeName(body.nodeName ?? ''), labels, ...description, publicKey };
}

function alterationsOf(body: NodeDraft, labels: Readonly<Record<string, string>>): Alteration[] {
  const from = body.labels?.[NODE_LABELS.country];
  const to = labels[NODE_LABELS.country];
  if (from === undefined || to === undefined || from === to) return [];
  return [{ field: `labels.${NODE_LABELS.country}`, from, to, why: 'country codes are kept in upper case' }];
}

interface Enrolment {
  readonly described: Described;
  readonly existing?: Stored<NodeRecord>;
  /** The credential is a join token, used up by this enrolment. */
  readonly join?: Stored<TokenRecord>;
}

/** Another tenant's name, another machine's name: refused, each with its own way out. */
function nameRejection(
  { admission }: NodeAdmission,
  caller: Caller,
  { described, existing, join }: Enrolment,
): Rejection | undefined {
  const { name } = described;
  const owner = admission.store.getGlobal('node-names', idOf('node-names', name))?.record.tenantId;
  if (owner !== undefined && owner !== caller.tenant.tenantId) {
    return reject('node_owned_by_another_tenant', {
      field: 'nodeName',
      received: received(name),
      why: 'The name is registered to another tenant; node names are unique across the platform.',
    });
  }
  if (existing === undefined || existing.record.publicKey === described.publicKey) return undefined;
  if (join?.record.nodeName === name) return undefined;
  return reject('node_already_enrolled', {
    field: 'nodeName',
    received: received(name),
    expected: `another nodeName; or, when that machine is gone: berth node delete ${name} (DELETE /api/v1/nodes/${name}), then enrol again; or a join token made for ${name}`,
    why: `The tenant ${caller.tenantSlug} owns ${name}: it was enrolled at ${existing.record.createdAt} by a machine with another key.`,
  });
}

function nextRecord(
  admission: Admission,
  caller: Caller,
  { described, existing }: Enrolment,
  tokenId: TokenId,
): NodeRecord {
  const { tenantId } = caller.tenant;
  return {
    ...(existing?.record ?? {
      tenantId,
      claims: [tenantId],
      schedulable: true,
      sessionEpoch: 0,
      createdAt: admission.clock.now().toISOString(),
    }),
    ...described,
    tokenId,
  };
}

/** Revoking the old token ends the old machine's session; the record of it stays for the audit log. */
export function revokeNodeToken(
  admission: Admission,
  transaction: Transaction,
  tokenId: TokenId | undefined,
): void {
  const stored = tokenId === undefined ? undefined : admission.store.getGlobal('tokens', tokenId);
  if (stored === undefined || stored.record.revokedAt !== undefined) return;
  transaction
    .expectGlobal('tokens', stored.id, stored)
    .putGlobal('tokens', stored.id, { ...stored.record, revokedAt: admission.clock.now().toISOString() });
}

function mintNodeToken(
  { admission, tokenKey }: NodeAdmission,
  caller: Caller,
  name: string,
): { readonly record: TokenRecord; readonly token: string } {
  const id = tokenId(admission.ids.next('token').replace('_', ''));
  const { token, secret } = mintToken('node', id);
  const record: TokenRecord = {
    id,
    kind: 'node',
    tenantId: caller.tenant.tenantId,
    role: 'node',
    name: `agent of ${name}`,
    hash: hashSecret(tokenKey, secret),
    createdAt: admission.clock.now().toISOString(),
    createdBy: caller.principal?.tokenId ?? 'system',
    nodeName: name,
  };
  return { record, token };
}

function change({ described, existing }: Enrolment): 'enrolled' | 're-enrolled' | 'replaced' {
  if (existing === undefined) return 'enrolled';
  return existing.record.publicKey === described.publicKey ? 're-enrolled' : 'replaced';
}

const EVENTS = {
  enrolled: 'node.enrolled',
  're-enrolled': 'node.reenrolled',
  replaced: 'node.key_replaced',
} as const;

const accepted = acceptedOf<typeof NODES.enrol>();

function attemptEnrolment(
  nodes: NodeAdmission,
  caller: Caller,
  described: Described,
  alterations: readonly Alteration[],
  authorization: string | undefined,
): Attempt<typeof NODES.enrol> {
  const { admission } = nodes;
  const { tenant, principal } = caller;
  const join =
    principal?.kind === 'join' ? admission.store.getGlobal('tokens', principal.tokenId) : undefined;
  if (principal?.kind === 'join') {
    const bound = join?.record.nodeName;
    if (join === undefined || (bound !== undefined && bound !== described.name))
      return joinTokenInvalid(authorization);
  }
  const id = idOf('nodes', described.name);
  const existing = tenant.get('nodes', id);
  const enrolment: Enrolment = {
    described,
    ...(existing === undefined ? {} : { existing }),
    ...(join === undefined ? {} : { join }),
  };
  const rejection = nameRejection(nodes, caller, enrolment);
  if (rejection) return rejection;
  const minted = mintNodeToken(nodes, caller, described.name);
  const record = nextRecord(admission, caller, enrolment, minted.record.id);
  const nameTaken = admission.store.getGlobal('node-names', id);
  const transaction = tenant
    .transaction()
    .expectGlobal('node-names', id, nameTaken)
    .putGlobal('node-names', id, { tenantId: tenant.tenantId })
    .expect('nodes', id, existing)
    .put('nodes', id, record)
    .putGlobal('tokens', minted.record.id, minted.record);
  // Guarded by what was read: of many parallel uses of one token, one finds it there.
  if (join !== undefined) transaction.expectGlobal('tokens', join.id, join).deleteGlobal('tokens', join.id);
  revokeNodeToken(admission, transaction, existing?.record.tokenId);
  const how = change(enrolment);
  const subject = { kind: 'Node', name: described.name } as const;
  admission.journal.event(transaction, tenant.tenantId, {
    kind: EVENTS[how],
    subject,
    message: `${described.name} ${how === 'replaced' ? 'taken over by a machine with another key' : how}`,
    details: {
      capacity: record.capacity,
      platform: record.platform,
      engine: record.engine,
      labels: record.labels,
    },
  });
  admission.journal.audit(transaction, tenant.tenantId, caller, EVENTS[how], subject);
  const body = {
    ...nodeView(tenant, nodes.nodes, record),
    nodeToken: minted.token,
    alterations,
    warnings: [],
    removed: [],
  };
  return { answer: accepted(existing === undefined ? 201 : 200, body), transaction };
}

export async function enrolNode(
  nodes: NodeAdmission,
  caller: Caller,
  body: NodeDraft,
  authorization: string | undefined,
): Promise<Outcome<typeof NODES.enrol>> {
  const { admission } = nodes;
  const described = describe(admission, body);
  if (isRejection(described)) return described;
  const alterations = alterationsOf(body, described.labels);
  // The answer shows the node's token once, so it is not kept for an Idempotency-Key to replay.
  const { idempotency: _unused, ...withoutReplay } = caller;
  return commitAttempts(admission, withoutReplay, () =>
    attemptEnrolment(nodes, caller, described, alterations, authorization),
  );
}
