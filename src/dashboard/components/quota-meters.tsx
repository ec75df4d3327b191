import type { TenantView } from '../lib/records.ts';
import { bytes, cores } from '../lib/format.ts';
import { Meter } from './meter.tsx';

export type QuotaUse = NonNullable<TenantView['standing']>['quota'][number];

const LABELS: Readonly<Record<string, string>> = { containers: 'Containers', cpu: 'CPU', memory: 'Memory' };

/** `records.deployments` is the number of deployments, `bytes.archives` what the archives take. */
export function quotaLabel({ resource }: QuotaUse): string {
  const [measure = '', kind] = resource.split('.');
  if (kind === undefined) return LABELS[measure] ?? measure;
  return measure === 'bytes' ? `Bytes of ${kind}` : `Stored ${kind}`;
}

export function quotaText({ resource, used, limit }: QuotaUse): string {
  if (resource === 'cpu') return `${Number(used.toFixed(2))} of ${cores(limit)}`;
  if (resource === 'memory' || resource.startsWith('bytes.')) return `${bytes(used)} of ${bytes(limit)}`;
  return `${used.toLocaleString('en')} of ${limit.toLocaleString('en')}`;
}

/** Of the limit: 1 is all of it, and so is nothing of a limit of nothing. */
export function shareOf({ used, limit }: QuotaUse): number {
  return limit === 0 ? 1 : used / limit;
}

/** The nearest to its limit first. */
export function byNeed(quota: readonly QuotaUse[]): readonly QuotaUse[] {
  return quota.toSorted((a, b) => shareOf(b) - shareOf(a));
}

/** What is used of each limit, as bars with figures. */
export function QuotaMeters({ quota }: { readonly quota: readonly QuotaUse[] }) {
  return (
    <div className="flex flex-col gap-3">
      {byNeed(quota).map((use) => (
        <Meter
          key={use.resource}
          label={quotaLabel(use)}
          value={use.used}
          max={use.limit}
          text={quotaText(use)}
        />
      ))}
    </div>
  );
}

/** In a row: the limit that is nearest, and how many others there are. */
export function TightestQuota({ quota }: { readonly quota: readonly QuotaUse[] }) {
  const [first, ...others] = byNeed(quota);
  if (first === undefined) return <span className="text-muted">no limits set</span>;
  const label = others.length === 0 ? quotaLabel(first) : `${quotaLabel(first)}, first of ${quota.length}`;
  return <Meter label={label} value={first.used} max={first.limit} text={quotaText(first)} />;
}
