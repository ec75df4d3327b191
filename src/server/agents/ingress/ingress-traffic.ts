import type { TenantId } from '../../../core/model/ids.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import type { AgentSession } from '../sessions/session.ts';

/** Names of deployments are tenants' own words: the number of series is bounded. */
export const MAX_TRAFFIC_SERIES = 5_000;

interface Traffic {
  readonly answers: number[];
  milliseconds: number;
}

type OfDeployment = { readonly tenant: string; readonly deployment: string };

/** Requests through the ingress as its nodes counted them, since this process began. For metrics; nothing of it is stored. */
export class IngressTraffic {
  readonly #store: Store;
  readonly #counted = new Map<TenantId, Map<string, Traffic>>();

  constructor(store: Store) {
    this.#store = store;
  }

  take(session: AgentSession, { traffic = [] }: Report): void {
    const { tenantId, servesIngress } = session.identity;
    if (servesIngress !== true || traffic.length === 0) return;
    const tenant = this.#store.forTenant(tenantId);
    const counted = this.#counted.get(tenantId) ?? new Map<string, Traffic>();
    this.#counted.set(tenantId, counted);
    for (const { deployment, answers, milliseconds } of traffic) {
      // A node speaks of deployments of its tenant, and of nothing else.
      if (tenant.get('deployments', idOf('deployments', deployment)) === undefined) continue;
      const all = counted.get(deployment) ?? { answers: [0, 0, 0, 0, 0], milliseconds: 0 };
      answers.forEach((count, at) => (all.answers[at] = (all.answers[at] ?? 0) + count));
      all.milliseconds += milliseconds;
      counted.set(deployment, all);
    }
  }

  /** Answers by deployment and hundred, as `2xx`. */
  answers(): readonly (readonly [OfDeployment & { readonly code: string }, number])[] {
    return this.#rows().flatMap(([labels, { answers }]) =>
      answers.flatMap((count, at) =>
        count === 0 ? [] : [[{ ...labels, code: `${at + 1}xx` }, count] as const],
      ),
    );
  }

  seconds(): readonly (readonly [OfDeployment, number])[] {
    return this.#rows().map(([labels, { milliseconds }]) => [labels, milliseconds / 1000]);
  }

  /** Of those that are there still. */
  #rows(): readonly (readonly [OfDeployment, Traffic])[] {
    const rows: (readonly [OfDeployment, Traffic])[] = [];
    for (const [tenantId, counted] of this.#counted) {
      const slug = this.#store.getGlobal('tenants', tenantId)?.record.slug;
      const tenant = slug === undefined ? undefined : this.#store.forTenant(tenantId);
      for (const [deployment, traffic] of counted)
        if (tenant?.get('deployments', idOf('deployments', deployment)) === undefined)
          counted.delete(deployment);
        else if (slug !== undefined && rows.length < MAX_TRAFFIC_SERIES)
          rows.push([{ tenant: slug, deployment }, traffic]);
      if (counted.size === 0) this.#counted.delete(tenantId);
    }
    return rows;
  }
}
