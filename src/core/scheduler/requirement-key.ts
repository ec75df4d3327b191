import type { PlacementRequest } from './request.ts';

/** Equal keys: the same nodes are admitted, whatever is placed on them. `nodeId`, `volumes` and `networks` name nodes and need no key. */
export function nodeRequirementKey(request: PlacementRequest): string {
  const { placement, imagePlatforms, features, hostPorts } = request;
  const { residency, constraints } = placement ?? {};
  const isFree = imagePlatforms === undefined && features === undefined && hostPorts === undefined;
  if (residency === undefined && constraints === undefined && isFree) return '';
  const labels = Object.entries(constraints ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const blocked = [...(residency?.blockedCountries ?? [])].sort();
  const needs = [imagePlatforms, features, hostPorts];
  return JSON.stringify([residency?.country, residency?.region, blocked, labels, ...needs]);
}

/** Equal keys: the same requirements in every respect but the amounts, for instances of one deployment. */
export function deploymentRequirementKey(request: PlacementRequest, nodeKey: string): string {
  const others = request.placement?.antiAffinity;
  return others === undefined ? nodeKey : `${nodeKey} ${JSON.stringify(others)}`;
}
