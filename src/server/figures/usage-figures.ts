import type { TenantId } from '../../core/model/ids.ts';
import { ownerOf } from '../../core/model/owner.ts';
import type { Store } from '../store/store.ts';
import { addUsage, noUsage, type TenantUsage, type UsageSum } from '../runtime/measurements.ts';
import { fairShare } from './fair-share.ts';
import { type Family, family, type Sample } from './family.ts';
import { MAX_NAMED, MAX_TENANTS, OTHERS } from './tenant-figures.ts';

type Label = 'tenant' | 'kind' | 'workload';

const CORE = 10_000;

interface Row {
  readonly labels: Readonly<Record<Label, string>>;
  readonly sum: UsageSum;
}

/** What containers take, by workload; whatever is not named is added up, so that sums are of everything. */
export function usageFamilies(
  store: Store,
  usage: () => ReadonlyMap<TenantId, TenantUsage>,
): readonly Family[] {
  const rows = (): readonly Row[] => {
    const tenants = [...usage()].flatMap(([id, used]) => {
      const slug = store.getGlobal('tenants', id)?.record.slug;
      return slug === undefined ? [] : [{ slug, used }];
    });
    const { taken } = fairShare(
      tenants.map(({ slug, used: { byOwner } }) => ({
        of: Iterator.from(byOwner).map(([owner, sum]): Row => {
          const { kind, name } = ownerOf(owner);
          return { labels: { tenant: slug, kind, workload: name }, sum };
        }),
        size: byOwner.size,
      })),
      MAX_NAMED,
    );
    return [...taken, ...unnamed(tenants, taken)];
  };
  const figure = (name: string, help: string, value: (sum: UsageSum) => number): Family =>
    family({
      name,
      help,
      labels: ['tenant', 'kind', 'workload'],
      read: () => rows().map(({ labels, sum }): Sample<Label> => [labels, value(sum)]),
    });
  return [
    figure(
      'berth_workload_cpu_cores',
      'Processor time that its containers take, in cores, as last measured.',
      ({ cpu }) => cpu / CORE,
    ),
    figure(
      'berth_workload_memory_bytes',
      'Memory that its containers take, as last measured.',
      ({ memoryBytes }) => memoryBytes,
    ),
    figure(
      'berth_workload_containers',
      'Containers that were measured, of agents connected to this process.',
      ({ containers }) => containers,
    ),
  ];
}

/** What is left of each tenant when those that are named are taken away. */
function unnamed(
  tenants: readonly { readonly slug: string; readonly used: TenantUsage }[],
  named: readonly Row[],
): readonly Row[] {
  const left = new Map<string, UsageSum>();
  for (const { slug, used } of tenants) left.set(slug, { ...used.sum });
  for (const { labels, sum } of named) {
    const of = left.get(labels.tenant);
    if (of !== undefined) addUsage(of, sum, -1);
  }
  const rest: Row[] = [];
  const others = noUsage();
  for (const [tenant, sum] of left) {
    if (sum.containers === 0) continue;
    if (rest.length < MAX_TENANTS) rest.push({ labels: { tenant, kind: OTHERS, workload: OTHERS }, sum });
    else addUsage(others, sum, 1);
  }
  if (others.containers > 0)
    rest.push({ labels: { tenant: OTHERS, kind: OTHERS, workload: OTHERS }, sum: others });
  return rest;
}
