import type { AgentMessage, MeshMap } from '../../core/protocol/agent-protocol.ts';

/** One way in, as the map of the network says it. */
export type IngressRoute = NonNullable<MeshMap['ingress']>[number];
export type IngressAcme = NonNullable<MeshMap['acme']>;

type Report = Extract<AgentMessage, { readonly type: 'report' }>;
export type RouteReport = NonNullable<Report['ingress']>['routes'][number];

export type RouteTraffic = NonNullable<Report['traffic']>[number];

export interface Pem {
  readonly certificate: string;
  readonly key: string;
}

export type HttpRoute = IngressRoute & { readonly protocol: 'http'; readonly host: string };

export function isHttp(route: IngressRoute): route is HttpRoute {
  return route.protocol === 'http' && route.host !== undefined;
}
