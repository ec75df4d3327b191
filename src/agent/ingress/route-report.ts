import type { CertificateFacts } from './certificates.ts';
import type { IngressRoute, RouteReport } from './route.ts';

/** What is known of the routes of this node. */
export interface IngressView {
  /** Of the clock that certificates are judged by. */
  readonly nowMs: number;
  /** Why Caddy serves nothing now. */
  readonly caddyProblem: string | undefined;
  /** It has taken the newest configuration. */
  readonly loaded: boolean;
  /** By host. */
  readonly certificates: ReadonlyMap<string, CertificateFacts>;
  readonly certificateProblems: ReadonlyMap<string, string>;
  /** Why Caddy could keep no certificate. */
  readonly diskProblem?: string | undefined;
  /** By protocol and port, as `tcp/5432`. */
  readonly portProblems: ReadonlyMap<string, string>;
}

type State = Pick<RouteReport, 'state' | 'problem' | 'certificate'>;

export function routeReport(route: IngressRoute, view: IngressView): RouteReport {
  const { deployment, host, path, listen } = route;
  return {
    deployment,
    ...(host !== undefined && { host }),
    ...(path !== undefined && { path }),
    ...(listen !== undefined && { listen }),
    ...(route.protocol === 'http' ? httpState(route, view) : portState(route, view)),
  };
}

function portState({ protocol, listen }: IngressRoute, { portProblems }: IngressView): State {
  const problem = portProblems.get(`${protocol}/${listen}`);
  return problem === undefined ? { state: 'serving' } : { state: 'failed', problem };
}

function httpState({ tls, host }: IngressRoute, view: IngressView): State {
  if (host === undefined) return { state: 'failed', problem: 'a route of http needs a host' };
  const { caddyProblem, loaded } = view;
  const certificate = view.certificates.get(host);
  const ended = tls !== 'off' && certificate !== undefined && Date.parse(certificate.notAfter) <= view.nowMs;
  const problem =
    caddyProblem ??
    (tls === 'off' ? undefined : view.certificateProblems.get(host)) ??
    (tls === 'auto' ? view.diskProblem : undefined) ??
    (ended ? `its certificate was good until ${certificate.notAfter}, by the clock of this node` : undefined);
  const more = {
    ...(problem !== undefined && { problem }),
    ...(tls !== 'off' && certificate && { certificate }),
  };
  if (caddyProblem !== undefined || ended) return { state: 'failed', ...more };
  if (!loaded) return { state: 'waiting', ...more };
  if (tls === 'off' || certificate !== undefined) return { state: 'serving', ...more };
  return { state: problem === undefined ? 'waiting' : 'failed', ...more };
}
