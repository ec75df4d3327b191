import type { Logger } from 'pino';
import { canonicalJson } from '../../../core/model/canonical.ts';
import { isOfEntry, type ServedRoute, servedIngress } from '../../../core/model/ingress.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { Clock } from '../../clock.ts';
import type { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store, TenantStore } from '../../store/store.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';

/** Caddy renews when a third of its time is left; what is not renewed by then is for a person. */
const EXPIRING_MS = 14 * 24 * 3_600_000;
/** Time alone makes a certificate one that ends soon: what is stored is looked at so often. */
const LOOK_MS = 60_000;
/** Of one change; the rest is in the record. */
const MAX_EVENTS = 32;

interface IngressReportsOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly clock: Clock;
  readonly log: Logger;
}

interface News {
  readonly kind: string;
  readonly route: ServedRoute;
  readonly message: string;
}

interface Said {
  readonly routes: readonly ServedRoute[];
  /** Until then it is as it is stored. */
  againMs: number;
}

/**
 * The only writer of what ingress nodes serve. An agent says it when it changes; what could not be stored then is tried again with its next
 * report, whatever that holds.
 */
export class IngressReports {
  readonly #options: IngressReportsOptions;
  readonly #said = new WeakMap<AgentSession, Said>();
  readonly #storing = new Set<string>();

  constructor(options: IngressReportsOptions) {
    this.#options = options;
  }

  take(session: AgentSession, { ingress }: Report): void {
    if (session.identity.servesIngress !== true) return;
    if (ingress !== undefined) this.#said.set(session, { routes: ingress.routes, againMs: -Infinity });
    const said = this.#said.get(session);
    const nowMs = this.#options.clock.monotonicMs();
    if (said === undefined || nowMs < said.againMs || this.#storing.has(session.key)) return;
    this.#storing.add(session.key);
    this.#store(session, said.routes)
      .then((stored) => {
        if (stored) said.againMs = nowMs + LOOK_MS;
      })
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'what an ingress node serves could not be stored'),
      )
      .finally(() => this.#storing.delete(session.key));
  }

  /** False: it has to be tried again. */
  async #store(session: AgentSession, reported: readonly ServedRoute[]): Promise<boolean> {
    const { store, clock, events, journal } = this.#options;
    const { tenantId, node } = session.identity;
    const tenant = store.forTenant(tenantId);
    const routes = known(tenant, reported);
    const expiring = routes
      .filter(({ certificate }) => isExpiring(certificate?.notAfter, clock.now().getTime()))
      .map(({ host = '' }) => host);
    const id = idOf('ingress-reports', node);
    const before = tenant.get('ingress-reports', id)?.record;
    const record = { routes, ...(expiring.length > 0 && { expiring }) };
    if (canonicalJson(record) === canonicalJson(before ?? null)) return true;
    // What changes all the time is stored every few seconds, as it is then.
    if (before !== undefined && !events.take(`${session.key}/ingress`)) return false;
    const transaction = expectSession(tenant, session.identity, tenant.transaction());
    if (transaction === undefined) return false;
    transaction.put('ingress-reports', id, record);
    const told = new Set(before?.expiring);
    const news = routes.flatMap((route) =>
      newsOf(
        node,
        route,
        before?.routes.find((one) => isSame(one, route)),
        {
          isExpiring: expiring.includes(route.host ?? '') && !told.has(route.host ?? ''),
        },
      ),
    );
    for (const { kind, route, message } of news.slice(0, MAX_EVENTS)) {
      journal.event(transaction, tenantId, {
        kind,
        subject: { kind: 'Deployment', name: route.deployment },
        message,
        details: { node, ...route },
      });
    }
    return (await tenant.commit(transaction)).ok;
  }
}

/** A node speaks of ways in to deployments of its tenant, each once, and of nothing else. */
function known(tenant: TenantStore, reported: readonly ServedRoute[]): readonly ServedRoute[] {
  const seen = new Set<string>();
  return reported.filter((route) => {
    const { deployment, host, path, listen } = route;
    const key = JSON.stringify([deployment, host, path, listen]);
    if (seen.has(key)) return false;
    seen.add(key);
    const spec = tenant.get('deployments', idOf('deployments', deployment))?.record.spec;
    return spec !== undefined && servedIngress(spec).some((entry) => isOfEntry(route, entry));
  });
}

function isSame(one: ServedRoute, other: ServedRoute): boolean {
  return (
    one.deployment === other.deployment &&
    one.host === other.host &&
    one.path === other.path &&
    one.listen === other.listen
  );
}

function isExpiring(notAfter: string | undefined, nowMs: number): boolean {
  const endsMs = Date.parse(notAfter ?? '');
  return endsMs - nowMs < EXPIRING_MS;
}

function newsOf(
  node: string,
  route: ServedRoute,
  before: ServedRoute | undefined,
  { isExpiring: ends }: { readonly isExpiring: boolean },
): readonly News[] {
  const { host, path = '', listen, state, problem, certificate } = route;
  const way = host === undefined ? `port ${listen ?? 0}` : `${host}${path}`;
  const news: News[] = [];
  if (state !== before?.state && state !== 'waiting') {
    news.push(
      state === 'serving'
        ? { kind: 'ingress.serving', route, message: `${node} serves ${way} for ${route.deployment}` }
        : {
            kind: 'ingress.failed',
            route,
            message: `${node} does not serve ${way} for ${route.deployment}: ${problem ?? 'it does not say why'}`,
          },
    );
  }
  if (certificate !== undefined && certificate.notAfter !== before?.certificate?.notAfter) {
    const { issuer, notAfter } = certificate;
    news.push({
      kind: 'certificate.issued',
      route,
      message: `${node} has a certificate of ${issuer} for ${way}, until ${notAfter}`,
    });
  }
  if (ends) {
    news.push({
      kind: 'certificate.expiring',
      route,
      message: `the certificate for ${way} ends ${certificate?.notAfter ?? 'soon'}${problem === undefined ? '' : `: ${problem}`}; renew its secret, or see why the authority refuses`,
    });
  }
  return news;
}
