import { QUOTA_KINDS } from '../../../core/model/quota.ts';
import { Meter } from '../../components/meter.tsx';
import { QuotaMeters } from '../../components/quota-meters.tsx';
import { bytes } from '../../lib/format.ts';
import { useTenantUsage } from './tenant-queries.ts';

/** What a tenant has stored of what it may: of each kind, whichever of number and bytes is nearer to its limit. */
export function TenantUsage({ id }: { readonly id: string }) {
  const { data } = useTenantUsage(id);
  const usage = data?.usage;
  if (usage === undefined) return null;
  const placed = data?.standing?.quota.filter(({ resource }) => !resource.includes('.')) ?? [];
  return (
    <section aria-label="Used" className="flex flex-col gap-2">
      {placed.length === 0 ? null : (
        <>
          <h3 className="text-xs font-medium">Placed</h3>
          <QuotaMeters quota={placed} />
        </>
      )}
      <h3 className="text-xs font-medium">Stored</h3>
      <div className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
        {QUOTA_KINDS.map((kind) => {
          const records = usage.records[kind];
          const size = usage.bytes[kind];
          const isSizeNearer = size.used * records.limit > records.used * size.limit;
          const { used, limit } = isSizeNearer ? size : records;
          return (
            <Meter
              key={kind}
              label={kind}
              value={used}
              max={limit}
              text={`${records.used} of ${records.limit}, ${bytes(size.used)} of ${bytes(size.limit)}`}
            />
          );
        })}
      </div>
    </section>
  );
}
