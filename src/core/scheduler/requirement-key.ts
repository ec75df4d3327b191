import type { PlacementRequest } from './request.ts';

/** Equal keys: the same nodes are admitted, whatever is placed on them. `nodeId` and `volumes` name nodes and need no key. */
export function nodeRequirementKey(request: PlacementRequest): string {
  const { placement, imagePlatforms, features } = request;
  const { residency, constraints } = placement ?? {};
  const isFree = imagePlatforms === undefined && features === undefined;
  if (residency === undefined && constraints === undefined && isFree) return '';
  const labels = Object.entries(constraints ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const blocked = [...(residency?.blockedCountries ?? [])].sort();
  return JSON.stringify([residency?.country, residency?.region, blocked, labels, imagePlatforms, features]);
}

/** Equal keys: the same requirements in every respect but the amounts, for instances of one deployment. */
export function deploymentRequirementKey(request: PlacementRequest, nodeKey: string): string {
  const others = request.placement?.antiAffinity;
  const ports = request.hostPorts;
  return others === undefined && ports === undefined
    ? nodeKey
    : `${nodeKey} ${JSON.stringify([others, ports])}`;
}
