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
