import type { InstanceRecord } from '../../../core/model/instance.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { agentUnreachable } from './agent-answers.ts';

export function unavailable(instance: string | undefined, why: string): Rejection {
  return reject('exec_unavailable', { field: 'instance', received: received(instance), why });
}

/** The one of these that a command is run in: its agent has to be reached. */
export function runningInstance(
  store: TenantStore,
  dispatch: Dispatch,
  choices: readonly InstanceRecord[],
  named: string | undefined,
): InstanceRecord | Rejection {
  const running = choices
    .filter(
      (one) =>
        store.get('observations', idOf('observations', one.deployment, one.id))?.record.phase === 'running',
    )
    // One that is about to stop goes on for a moment, as an older version of what is asked about.
    .toSorted((one, other) => Number(one.wanted !== 'run') - Number(other.wanted !== 'run'));
  const instance = running.find((one) => dispatch.connected(store.tenantId, one.nodeId)) ?? running[0];
  if (instance === undefined) return unavailable(named, 'No instance is running.');
  return dispatch.connected(store.tenantId, instance.nodeId) ? instance : agentUnreachable(instance.nodeId);
}
