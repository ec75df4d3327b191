import type { Warning } from '../model/announcement.ts';
import type { Placement, Residency } from '../model/deployment.ts';
import { NODE_LABELS } from '../model/labels.ts';
import type { Region, UnstatedCountry } from '../model/region.ts';
import { findRegion } from './regions.ts';

type Labels = Readonly<Record<string, string>>;

/** A node's own labels come from its agent's configuration, where `de` is as likely as `DE`. */
export function countryOf(labels: Labels): string | undefined {
  return labels[NODE_LABELS.country]?.toUpperCase();
}

export function geoRegionOf(labels: Labels): string | undefined {
  return labels[NODE_LABELS.region];
}

export function constrainsResidency(residency: Residency | undefined): residency is Residency {
  if (residency === undefined) return false;
  return (
    residency.country !== undefined ||
    residency.region !== undefined ||
    (residency.blockedCountries ?? []).length > 0
  );
}

export function satisfiesCountry(labels: Labels, residency: Residency | undefined): boolean {
  return residency?.country === undefined || countryOf(labels) === residency.country;
}

export function satisfiesRegion(
  labels: Labels,
  residency: Residency | undefined,
  regions: readonly Region[],
): boolean {
  if (residency?.region === undefined) return true;
  if (geoRegionOf(labels) === residency.region) return true;
  const country = countryOf(labels);
  return (
    country !== undefined && (findRegion(regions, residency.region)?.countries.includes(country) ?? false)
  );
}

/** Only a listed country removes a node: one that states none is not on the list, unless the configuration turns that round. */
export function avoidsBlockedCountries(
  labels: Labels,
  residency: Residency | undefined,
  unstated: UnstatedCountry = 'keep',
): boolean {
  const blocked = residency?.blockedCountries ?? [];
  const country = countryOf(labels);
  if (country === undefined) return unstated === 'keep' || blocked.length === 0;
  return !blocked.includes(country);
}

/** Also binds replica nodes of volumes and promotion targets. */
export function satisfiesResidency(
  labels: Labels,
  residency: Residency | undefined,
  regions: readonly Region[],
  unstated?: UnstatedCountry,
): boolean {
  return (
    satisfiesCountry(labels, residency) &&
    satisfiesRegion(labels, residency, regions) &&
    avoidsBlockedCountries(labels, residency, unstated)
  );
}

export interface AdvertisingNode {
  readonly labels: Labels;
  /** Ready, with a live session. */
  readonly reachable: boolean;
}

const FIELD = 'placement.residency';

/** What the answer to a write must say when residency cannot be honoured; the write is stored either way. */
export function residencyWarning(
  spec: { readonly placement?: Placement },
  nodes: readonly AdvertisingNode[],
  enforcement: boolean,
  regions: readonly Region[],
  unstated?: UnstatedCountry,
): Warning | undefined {
  const residency = spec.placement?.residency;
  if (!constrainsResidency(residency)) return undefined;
  if (!enforcement) {
    return {
      code: 'residency_enforcement_off',
      field: FIELD,
      why: `Residency is not enforced on this control plane, so ${describeResidency(residency)} cannot be guaranteed. The deployment waits until enforcement is switched on or placement.residency is removed.`,
    };
  }
  const reachable = nodes.filter((node) => node.reachable);
  if (reachable.some((node) => satisfiesResidency(node.labels, residency, regions, unstated)))
    return undefined;
  return {
    code: 'residency_no_matching_node',
    field: FIELD,
    why: `No reachable node satisfies ${describeResidency(residency)}. ${describeAdvertised(reachable)} The deployment waits until a matching node is there.`,
  };
}

const MAX_NAMED = 20;

/** Nodes that no list of blocked countries can judge: they stay, and that is said. */
export function unstatedWarning(
  residency: Residency | undefined,
  nodes: readonly string[],
  unstated: UnstatedCountry = 'keep',
): readonly Warning[] {
  const blocked = residency?.blockedCountries ?? [];
  if (blocked.length === 0 || nodes.length === 0 || unstated === 'refuse') return [];
  const named = nodes.slice(0, MAX_NAMED).join(', ');
  const rest = nodes.length > MAX_NAMED ? ` and ${nodes.length - MAX_NAMED} more` : '';
  return [
    {
      code: 'residency_country_unstated',
      field: `${FIELD}.blockedCountries`,
      why: `${named}${rest} ${nodes.length === 1 ? 'states' : 'state'} no country (label ${NODE_LABELS.country}), so that ${blocked.join(', ')} cannot be told to be avoided there; such a node may be chosen. State the country in the agent's configuration, or set residency.unstated to refuse.`,
    },
  ];
}

export function describeResidency(residency: Residency): string {
  const parts: string[] = [];
  if (residency.country !== undefined) parts.push(`country ${residency.country}`);
  if (residency.region !== undefined) parts.push(`region ${residency.region}`);
  const blocked = residency.blockedCountries ?? [];
  if (blocked.length > 0) parts.push(`not in ${blocked.join(', ')}`);
  return parts.join(', ');
}

function describeAdvertised(nodes: readonly AdvertisingNode[]): string {
  if (nodes.length === 0) return 'No node of the tenant is reachable.';
  const countries = distinct(nodes.map((node) => countryOf(node.labels)));
  const regions = distinct(nodes.map((node) => geoRegionOf(node.labels)));
  return `The ${nodes.length} reachable nodes advertise ${NODE_LABELS.country}: ${countries}; ${NODE_LABELS.region}: ${regions}.`;
}

function distinct(values: readonly (string | undefined)[]): string {
  const known = [...new Set(values.filter((value) => value !== undefined))].sort();
  return known.length === 0 ? 'none' : known.join(', ');
}
