import { exactly } from '../../../core/schema/shape.ts';
import { fieldText } from '../../../core/model/values.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import type { NODES } from '../../../core/operations/nodes.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { idOf } from '../../store/record-ids.ts';
import { nodeNotFound } from '../../reads/node.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import type { ReplyTo, RequestFor } from '../route.ts';
import { asked, unfit } from './agent-answers.ts';

type Rotate = typeof NODES.rotateKey;
const asKey = exactly<AnswerOf<Rotate>>();

/**
 * The agent makes the key and tells it with its next report, like every fact of its node; nothing is stored here but that it was asked,
 * before it acts: whatever becomes of the answer, that is on record.
 */
export async function rotateKey(
  { admission: { journal } }: NodeAdmission,
  dispatch: Dispatch,
  { store, caller, params: { name } }: RequestFor<Rotate>,
): Promise<ReplyTo<Rotate>> {
  if (store.get('nodes', idOf('nodes', name)) === undefined) return nodeNotFound(name);
  const away = unfit(store, dispatch, name);
  if (away) return away;
  const subject = { kind: 'Node', name } as const;
  const asking = store.transaction();
  journal.audit(asking, store.tenantId, caller, 'node.key_rotated', subject);
  await store.commit(asking);
  const answer = await asked(dispatch, store.tenantId, name, { kind: 'mesh-key-renew' });
  if (typeof answer === 'string')
    return reject('node_key_not_renewed', {
      field: 'name',
      received: received(name),
      why: `${received(answer)}.`,
    });
  const transaction = store.transaction();
  journal.event(transaction, store.tenantId, {
    kind: 'node.key_rotated',
    subject,
    message: `${name} takes another key for the tenant's network`,
  });
  await store.commit(transaction);
  return { status: 200, body: asKey({ name, publicKey: fieldText(answer[0], 'publicKey') ?? '' }) };
}
