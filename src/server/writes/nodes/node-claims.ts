import { type claimBody } from '../../../core/contract/node-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { findTenant } from '../../access/authenticate.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Attempt, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import type { NodeAdmission } from './node-admission.ts';
import { nodeNotFound, nodeView } from '../../reads/node.ts';
import { nodeInUse, removeNode } from './nodes.ts';

const MAX_CLAIMS = 2;
const ANNOUNCED = { alterations: [], warnings: [], removed: [] } as const;

/** Wherever its record is: a second claimant does not own the record, and still may release its claim. */
function findNode({ admission }: NodeAdmission, name: string): Stored<NodeRecord> | undefined {
  const owner = admission.store.getGlobal('node-names', idOf('node-names', name))?.record.tenantId;
  return owner === undefined ? undefined : admission.store.forTenant(owner).get('nodes', idOf('nodes', name));
}

const claimedBy = acceptedOf<typeof NODES.addClaim>();
const releasedClaim = acceptedOf<typeof NODES.releaseClaim>();

export async function addClaim(
  nodes: NodeAdmission,
  caller: Caller,
  name: string,
  body: Draft<typeof claimBody>,
): Promise<Outcome<typeof NODES.addClaim>> {
  const { admission } = nodes;
  return commitAttempts(admission, caller, (): Attempt<typeof NODES.addClaim> => {
    const stored = findNode(nodes, name);
    if (stored === undefined) return nodeNotFound(name);
    const tenant = findTenant(admission.store, body.tenantId ?? '');
    if (tenant === undefined) {
      return reject('tenant_not_found', {
        field: 'tenantId',
        received: received(body.tenantId),
        why: 'There is no tenant of this id or slug.',
      });
    }
    const { record } = stored;
    const owner = admission.store.forTenant(record.tenantId);
    const claimed = record.claims.includes(tenant.id);
    if (!claimed && record.claims.length >= MAX_CLAIMS) {
      return reject('node_in_use', {
        field: 'name',
        received: received(name),
        expected: 'a node with one claim',
        why: `${name} already carries the claims of two tenants; one must be released first.`,
      });
    }
    const next: NodeRecord = claimed ? record : { ...record, claims: [...record.claims, tenant.id] };
    const answer = claimedBy(200, { ...nodeView(owner, nodes.nodes, next), ...ANNOUNCED });
    if (claimed) return { answer };
    const transaction = owner.transaction().expect('nodes', stored.id, stored).put('nodes', stored.id, next);
    const subject = { kind: 'Node', name } as const;
    // Both learn of it, neither learns who the other is.
    for (const tenantId of next.claims) {
      const notice = new Transaction(tenantId);
      admission.journal.event(notice, tenantId, {
        kind: 'node.claim_added',
        subject,
        message: `a second claim on ${name} was added, for a hand-over`,
      });
      transaction.include(notice.toCommit());
    }
    admission.journal.audit(transaction, record.tenantId, caller, 'node.claim_added', subject);
    return { answer, transaction };
  });
}

/** Ownership moves with the record, its name and its token: the machine keeps its identity and dials in for its new tenant. */
function moveNode(
  { admission }: NodeAdmission,
  stored: Stored<NodeRecord>,
  to: TenantId,
  claims: readonly TenantId[],
): { readonly transaction: Transaction; readonly record: NodeRecord } {
  const { id, record } = stored;
  const name = admission.store.getGlobal('node-names', id);
  const token =
    record.tokenId === undefined ? undefined : admission.store.getGlobal('tokens', record.tokenId);
  const next: NodeRecord = { ...record, tenantId: to, claims };
  const arrival = new Transaction(to)
    .expect('nodes', id, undefined)
    .put('nodes', id, next)
    .expectGlobal('node-names', id, name)
    .putGlobal('node-names', id, { tenantId: to });
  if (token !== undefined)
    arrival
      .expectGlobal('tokens', token.id, token)
      .putGlobal('tokens', token.id, { ...token.record, tenantId: to });
  admission.journal.event(arrival, to, {
    kind: 'node.claimed',
    subject: { kind: 'Node', name: record.name },
    message: `${record.name} now belongs to this tenant`,
  });
  const transaction = new Transaction(record.tenantId)
    .expect('nodes', id, stored)
    .delete('nodes', id)
    .delete('node-liveness', id)
    .delete('node-drains', id)
    .delete('node-sessions', id)
    .delete('ingress-reports', id);
  return { transaction: transaction.include(arrival.toCommit()), record: next };
}

/**
 * A claim is released per tenant. The second claimant's goes without effect on the node; the owner's moves
 * the node to the second claimant, or ends it when there is none.
 */
export async function releaseClaim(
  nodes: NodeAdmission,
  caller: Caller,
  name: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof NODES.releaseClaim>> {
  const { admission } = nodes;
  const { tenant } = caller;
  const self = tenant.tenantId;
  return commitAttempts(admission, caller, (): Attempt<typeof NODES.releaseClaim> => {
    const stored = findNode(nodes, name);
    if (stored === undefined || !stored.record.claims.includes(self)) return nodeNotFound(name);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { record } = stored;
    const claims = record.claims.filter((claim) => claim !== self);
    const owner = admission.store.forTenant(record.tenantId);
    const subject = { kind: 'Node', name } as const;
    let transaction: Transaction;
    let left: NodeRecord | undefined;
    if (record.tenantId !== self) {
      left = { ...record, claims };
      transaction = owner.transaction().expect('nodes', stored.id, stored).put('nodes', stored.id, left);
    } else {
      const gone = `delete the node, DELETE /api/v1/nodes/${name}?force=true, when the machine is gone for good`;
      const held = nodeInUse(nodes, tenant, name, gone);
      if (held) return held;
      const heir = claims[0];
      if (heir === undefined) {
        transaction = tenant.transaction();
        removeNode(nodes, stored, transaction);
      } else {
        ({ transaction, record: left } = moveNode(nodes, stored, heir, claims));
      }
    }
    const released = tenant.transaction();
    admission.journal.event(released, self, {
      kind: 'node.claim_released',
      subject,
      message: `the claim on ${name} was released`,
    });
    admission.journal.audit(released, self, caller, 'node.claim_released', subject);
    transaction.include(released.toCommit());
    // What is left of the node is no longer this tenant's to see.
    return {
      answer: releasedClaim(200, {
        name,
        tenantId: self,
        released: true,
        deleted: left === undefined,
        ...ANNOUNCED,
      }),
      transaction,
    };
  });
}
