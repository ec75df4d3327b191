/** How a node takes part in the ingress of its tenant, as its agent says. */
export interface NodeIngress {
  /** Version of the Caddy of its machine; absent: there is none that can be used. */
  readonly caddy?: string;
  /** Why it serves nothing, for a person. */
  readonly problem?: string;
  /** Ports that it listens on. */
  readonly http: number;
  readonly https: number;
}

/** Of what ingress nodes keep for one another in the secrets store. No name of a namespace, so that none can be granted. */
export const INGRESS_NAMESPACE = '_ingress';

export const INGRESS_PROTOCOLS = ['http', 'tcp', 'udp'] as const;
export const INGRESS_PROVIDERS = ['caddy', 'traefik'] as const;

/** Where the certificate and its key are: a document with the keys `certificate` and `key`, both PEM. */
export interface IngressCertificate {
  readonly vault_path: string;
}

/** One way in to a deployment. */
export interface IngressEntry {
  readonly host?: string;
  /** A prefix; absent: all. */
  readonly path?: string;
  /** The port on ingress nodes, of `tcp` and `udp`. */
  readonly listen?: number;
  /** Of the container. */
  readonly port: number;
  /** Absent: `http`. */
  readonly protocol?: (typeof INGRESS_PROTOCOLS)[number];
  /** Absent: `auto` for `http`. */
  readonly tls?: 'auto' | 'off' | IngressCertificate;
  /** Absent: `caddy`, on the tenant's ingress nodes. `traefik`: labels of the containers, for a proxy that reads them. */
  readonly provider?: (typeof INGRESS_PROVIDERS)[number];
}

/** What a spec may hold of it. */
interface Reachable {
  readonly ingress?: readonly IngressEntry[];
}

/** What comes in at the tenant's ingress nodes. No container is made from it. */
export function servedIngress({ ingress = [] }: Reachable): readonly IngressEntry[] {
  return ingress.filter(({ provider }) => provider !== 'traefik');
}

/** What becomes labels of the containers. */
export function labelledIngress({ ingress = [] }: Reachable): IngressEntry | undefined {
  return ingress.find(({ provider }) => provider === 'traefik');
}

/**
 * Who may connect and what comes in, for a spec that comes back: no container is made from them, so a rollout that failed and a canary
 * of earlier say nothing of them, and they stay as the deployment has them. Labels for a proxy are the spec's own.
 */
export function standingWays<Access>(
  returning: Reachable,
  current: Reachable & { readonly access?: Access },
): Reachable & { readonly access?: Access } {
  const labelled = labelledIngress(returning);
  const ingress = [...servedIngress(current), ...(labelled ? [labelled] : [])];
  return {
    ...(ingress.length > 0 && { ingress }),
    ...(current.access !== undefined && { access: current.access }),
  };
}

/** What one deployment of a tenant may have: a host with a path, or a port of its ingress nodes. */
export function ingressKey(entry: Partial<IngressEntry>): string {
  const { protocol = 'http', host = '', path = '/', listen = 0 } = entry;
  return protocol === 'http' ? `${host}${path}` : `${protocol}/${listen}`;
}

/** One way in as an ingress node serves it. */
export interface ServedRoute {
  readonly deployment: string;
  readonly host?: string;
  readonly path?: string;
  readonly listen?: number;
  readonly state: 'serving' | 'waiting' | 'failed';
  readonly problem?: string;
  readonly certificate?: { readonly issuer: string; readonly notAfter: string };
}

/** What a node last said of all its ways in; stored when something of it changes. */
export interface IngressReportRecord {
  readonly routes: readonly ServedRoute[];
  /** Hosts whose certificate was told to end soon. */
  readonly expiring?: readonly string[];
}

/** Whether a node speaks of this entry. Reports do not tell tcp from udp: a port has the same trouble in both. */
export function isOfEntry(route: ServedRoute, entry: IngressEntry): boolean {
  const { path = '/' } = entry;
  return entry.host === undefined
    ? route.host === undefined && route.listen === entry.listen
    : route.host === entry.host && (route.path ?? '/') === path;
}
