import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { CLEANING_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import { optional } from '../../../core/model/values.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { parseNodeCleaning } from '../../agents/sessions/agent-message.ts';
import { nodeNotFound } from '../../reads/node.ts';
import { idOf } from '../../store/record-ids.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import { booleanParameter } from '../paging.ts';
import type { ReplyTo, RequestFor } from '../route.ts';
import { agentUnreachable, asked } from './agent-answers.ts';
import { outdated } from './instance-orders.ts';

type Clean = typeof NODES.clean;
const asCleaning = exactly<AnswerOf<Clean>>();
/** Engines remove an image after the other, and large ones take their time. */
const DEADLINE_MS = 120_000;

/** The agent removes and reports each removal; here only that it was asked is stored, before it acts. */
export async function cleanNode(
  { admission: { journal } }: NodeAdmission,
  dispatch: Dispatch,
  { store, caller, params: { name }, query }: RequestFor<Clean>,
): Promise<ReplyTo<Clean>> {
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  if (store.get('nodes', idOf('nodes', name)) === undefined) return nodeNotFound(name);
  if (!dispatch.connected(store.tenantId, name)) return agentUnreachable(name);
  const tooOld = outdated(store, name, CLEANING_FEATURE);
  if (tooOld) return tooOld;
  if (!dryRun) {
    const asking = store.transaction();
    journal.audit(asking, store.tenantId, caller, 'node.cleaned', { kind: 'Node', name });
    await store.commit(asking);
  }
  const answer = await asked(dispatch, store.tenantId, name, { kind: 'clean', dryRun }, DEADLINE_MS);
  if (typeof answer === 'string')
    return agentUnreachable(name, `The agent of ${name} did not answer: ${answer}.`);
  const cleaning = parseNodeCleaning(answer[0]);
  if (cleaning === undefined) return agentUnreachable(name, `The agent of ${name} answered something else.`);
  const { divergences, ...images } = cleaning;
  const named = divergences?.map((one) => ({
    ...one,
    ...optional('volume', store.get('volumes', idOf('volumes', one.volumeId))?.record.name),
  }));
  return { status: 200, body: asCleaning({ name, dryRun, ...images, ...optional('divergences', named) }) };
}
