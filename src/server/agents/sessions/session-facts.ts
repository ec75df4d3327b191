import type { Logger } from 'pino';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import { optional } from '../../../core/model/values.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import type { KeyedRate } from './keyed-rate.ts';
import type { AgentSession } from './session.ts';
import { changesText, conditionsOf } from './session-record.ts';
import { expectSession } from './session-guard.ts';

type Facts = NonNullable<Report['facts']>;

export interface SessionFactsOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly log: Logger;
}

/** What changes of a node while its session lasts: every report says it, so what is not stored now comes again. */
export class SessionFacts {
  readonly #options: SessionFactsOptions;
  readonly #storing = new Set<string>();

  constructor(options: SessionFactsOptions) {
    this.#options = options;
  }

  take(session: AgentSession, { facts }: Report): void {
    if (facts === undefined || this.#storing.has(session.key)) return;
    this.#storing.add(session.key);
    this.#store(session, facts)
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'changed facts of a node could not be stored'),
      )
      .finally(() => this.#storing.delete(session.key));
  }

  async #store(session: AgentSession, facts: Facts): Promise<void> {
    const { store, journal, events } = this.#options;
    const { tenantId, node } = session.identity;
    const tenant = store.forTenant(tenantId);
    const stored = tenant.get('nodes', idOf('nodes', node));
    if (stored === undefined) return;
    const record = withFacts(stored.record, facts);
    const differs = (field: 'disk' | 'problems' | 'notReady' | 'conditions' | 'mesh' | 'ingress'): boolean =>
      canonicalJson(record[field] ?? null) !== canonicalJson(stored.record[field] ?? null);
    const changed = (['problems', 'notReady', 'conditions', 'mesh', 'ingress'] as const).filter(differs);
    if (changed.length === 0 && !differs('disk')) return;
    if (!events.take(`${session.key}/${changed.length > 0 ? 'facts' : 'disk'}`)) return;
    const transaction = expectSession(tenant, session.identity, tenant.transaction());
    if (transaction === undefined) return;
    transaction.expect('nodes', stored.id, stored).put('nodes', stored.id, record);
    // Disks fill and empty all the time: that is no news.
    if (changed.length > 0)
      journal.event(transaction, tenantId, {
        kind: 'node.updated',
        subject: { kind: 'Node', name: node },
        message: changesText(node, changed, record),
        details: Object.fromEntries(changed.map((field) => [field, record[field] ?? null])),
      });
    await tenant.commit(transaction);
  }
}

/** Where the session comes from stays. */
function withFacts(
  {
    problems: _problems,
    notReady: _notReady,
    conditions: _conditions,
    disk: _disk,
    mesh: before,
    ...kept
  }: NodeRecord,
  { problems, notReady, conditions, faults, disk, mesh, ingress }: Facts,
): NodeRecord {
  return {
    ...kept,
    // Whether it serves the ingress is said by `hello`.
    ...(kept.ingress !== undefined && optional('ingress', ingress)),
    ...optional('problems', problems),
    ...optional('notReady', notReady),
    ...conditionsOf({ ...optional('conditions', conditions), ...optional('faults', faults) }),
    ...optional('disk', disk),
    ...(mesh && { mesh: { ...mesh, ...optional('seenFrom', before?.seenFrom) } }),
  };
}
