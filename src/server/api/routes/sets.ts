import { SETS } from '../../../core/operations/sets.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { exactly } from '../../../core/schema/shape.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import { received } from '../../../core/rejections/redaction.ts';
import type { SetAdmission } from '../../writes/sets/planned-kinds.ts';
import { type Planned, planSet } from '../../writes/sets/plan-set.ts';
import { permissionRejection } from '../admit-request.ts';
import { booleanParameter } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';

const asPlan = exactly<AnswerOf<typeof SETS.plan>>();
const asDocument = exactly<AnswerOf<typeof SETS.plan>['documents'][number]>();

async function plan(
  admission: SetAdmission,
  { query, body, caller, principal, charge, words }: RequestFor<typeof SETS.plan>,
): Promise<ReplyTo<typeof SETS.plan>> {
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  const all = booleanParameter(query, 'all');
  if (isRejection(all)) return all;
  if (!dryRun)
    return reject('apply_dry_run_only', {
      field: 'dryRun',
      received: received(query.dryRun),
      why: 'A set is planned as a whole; its documents are written one by one, in the order of the plan.',
    });
  charge(body.length);
  const planned = await planSet(admission, caller, {
    documents: body,
    all,
    forbidden: (permission) => permissionRejection(principal, permission),
  });
  if (isRejection(planned)) return planned;
  const shown = ({ effect, ...said }: Planned) =>
    'action' in effect
      ? asDocument({ ...said, changes: [], ...effect, rejections: [] })
      : asDocument({
          ...said,
          action: 'refused',
          changes: [],
          alterations: [],
          warnings: [],
          removed: [],
          rejections: effect.map(words),
        });
  return { status: 200, body: asPlan({ documents: planned.map(shown) }) };
}

export function setRoutes(admission: SetAdmission): Route[] {
  return [serve(SETS.plan, (request) => plan(admission, request))];
}
