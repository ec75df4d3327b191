import { hash } from 'node:crypto';
import { canonicalJson } from '../../core/model/canonical.ts';
import type { NodeName } from '../../core/model/ids.ts';
import type { Workload } from '../../core/model/deployment.ts';
import { isOfDeployment } from '../../core/model/owner.ts';
import { namedNetworks } from '../../core/model/network.ts';
import type { InstanceAction } from '../../core/plan/rollout/instance-actions.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { PlacementPlan } from '../placement/explanation.ts';
import { idOf } from '../store/record-ids.ts';
import { expectRollout, rolloutOf } from '../store/rollout-row.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

export interface PlannedWrite {
  /** The record as it was: its name, and its revision if there is one. */
  readonly record: { readonly kind: string; readonly name: string; readonly revision: number | undefined };
  /** What would be stored: what the document says, and what the control plane and the registry made of it. */
  readonly document: Pick<Workload, 'volumes'>;
  readonly plan: Pick<PlacementPlan, 'unplaced'> & { readonly actions: readonly InstanceAction[] };
}

const PARTS = [
  'the record was changed since',
  'the document, or what the control plane and the registry make of it, is not what was planned',
  'instances or nodes moved, so that it would do something else to what runs, or choose other nodes',
] as const;

/**
 * One part per thing that can move, so that a refusal can say which of them did. No text and no figure takes part: what a health check or a
 * measurement says counts only as far as another instance is chosen for it. Nor do values for the secrets store, whose digest could be guessed.
 */
export function planId(tenant: TenantStore, { record, document, plan }: PlannedWrite): string {
  const outcome = {
    actions: plan.actions.map(({ why: _text, ...action }) => action),
    unplaced: plan.unplaced?.count ?? 0,
  };
  return [canonicalJson(record), documentText(tenant, document), canonicalJson(outcome)]
    .map((part) => hash('sha256', part, 'hex').slice(0, 8))
    .join('-');
}

/** A volume that is planned together with it has an id that is made anew each time; its name stays. */
function documentText(tenant: TenantStore, document: PlannedWrite['document']): string {
  let text = canonicalJson(document);
  for (const { volumeId } of document.volumes ?? []) {
    const volume = tenant.get('volumes', idOf('volumes', volumeId));
    if (volume) text = text.replaceAll(volumeId, `${volume.record.name}@${volume.createRevision}`);
  }
  return text;
}

export function planRejection(given: string | undefined, current: string): Rejection | undefined {
  if (given === undefined || given === current) return undefined;
  const parts = given.split('-');
  const moved = PARTS.filter((_, at) => parts[at] !== current.split('-')[at]);
  // What is planned for another record is another plan in all its parts.
  return reject('plan_outdated', {
    field: 'plan',
    received: received(given),
    expected: current,
    why: `The plan does not hold any more: ${moved[0] ?? PARTS[0]}. Nothing was stored; look at the plan as it is now.`,
  });
}

/** Of each kind: more would not fit into one commit of etcd, with all else that is in it. */
const MAX_GUARDED = 16;

type Guarded = 'canaries' | 'quota' | 'nodes' | 'node-liveness' | 'volumes' | 'networks';

/** What the plan was made from, in the commit that it allows: a change of it meanwhile means to look again. */
export function guardPlan(
  tenant: TenantStore,
  spec: Pick<Workload, 'name' | 'volumes' | 'networks'>,
  actions: readonly InstanceAction[],
  transaction: Transaction,
): void {
  const { name } = spec;
  const expect = (kind: Guarded, id: string): void => {
    transaction.expect(kind, id, tenant.get(kind, id));
  };
  if (isOfDeployment(name)) {
    // Its generation goes up with every change of the instances.
    const id = idOf('rollouts', name);
    expectRollout(transaction, id, {
      rollout: rolloutOf(tenant, id),
      status: tenant.get('deployment-status', id),
    });
    expect('canaries', idOf('canaries', name));
  }
  expect('quota', 'quota');
  const nodes = new Set<NodeName>(actions.flatMap(({ node, to }) => [to ?? [], node ?? []].flat()));
  for (const node of [...nodes].slice(0, MAX_GUARDED)) {
    expect('nodes', idOf('nodes', node));
    expect('node-liveness', idOf('node-liveness', node));
  }
  // Where it may be placed at all.
  for (const { volumeId } of (spec.volumes ?? []).slice(0, MAX_GUARDED))
    expect('volumes', idOf('volumes', volumeId));
  for (const network of namedNetworks(spec).slice(0, MAX_GUARDED))
    expect('networks', idOf('networks', network));
}
