import type { AssignedInstance, Welcome } from '../../core/protocol/agent-protocol.ts';
import { CONTAINER_LABELS, LABEL_DOMAIN } from '../../core/model/labels.ts';

/** The agent's state is kept in the engine, in these labels, and nowhere else: that is why it survives its own death. */
export const OWN_LABELS = {
  ...CONTAINER_LABELS,
  node: `${LABEL_DOMAIN}node`,
  install: `${LABEL_DOMAIN}install`,
  attempt: `${LABEL_DOMAIN}attempt`,
  /** On networks that the tenant asked for; its value is the tenant's name for it. */
  network: `${LABEL_DOMAIN}network`,
} as const;

export interface Ownership {
  readonly node: string;
  readonly installId: string;
  readonly tenantId: string;
  readonly tenantSlug: string;
}

export function ownership(node: string, welcome: Welcome): Ownership {
  return {
    node,
    installId: welcome.installId,
    tenantId: welcome.tenantId,
    tenantSlug: welcome.tenantSlug,
  };
}

export function containerLabels(
  owner: Ownership,
  assigned: AssignedInstance,
): Readonly<Record<string, string>> {
  return {
    [OWN_LABELS.tenant]: owner.tenantId,
    [OWN_LABELS.deployment]: assigned.deployment,
    [OWN_LABELS.instance]: assigned.id,
    [OWN_LABELS.specHash]: assigned.specHash,
    [OWN_LABELS.secretsVersion]: String(assigned.secretsVersion),
    [OWN_LABELS.node]: owner.node,
    [OWN_LABELS.install]: owner.installId,
    [OWN_LABELS.attempt]: String(assigned.attempt),
    ...(assigned.canary === true ? { [OWN_LABELS.canary]: 'true' } : {}),
  };
}

export function networkLabels(owner: Ownership): Readonly<Record<string, string>> {
  return {
    [OWN_LABELS.tenant]: owner.tenantId,
    [OWN_LABELS.node]: owner.node,
    [OWN_LABELS.install]: owner.installId,
  };
}

export function networkName(owner: Ownership): string {
  return `berth-${owner.tenantSlug}`;
}

/** No network of a tenant has an underscore in its name. */
const MESH_SUFFIX = '._mesh';

/** The tenant's network on nodes that take part in its mesh. */
export function meshNetworkName(owner: Ownership): string {
  return `${networkName(owner)}${MESH_SUFFIX}`;
}

export function isMeshNetwork(name: string): boolean {
  return name.endsWith(MESH_SUFFIX);
}
