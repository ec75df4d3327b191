import { useMemo } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Client } from '../../../sdk/index.ts';
import { useApi, useSession } from '../../app/session.tsx';
import type { IconName } from '../../components/icon.tsx';
import type { Item } from './palette-items.ts';

/** So many of each list are looked through; of a longer one, a name that is typed whole is asked for. */
const MAX_PAGES = 2;
const FRESH_MS = 30_000;

interface Found {
  readonly items: readonly Item[];
  /** There is more than was looked through. */
  readonly isPartial: boolean;
}

type NamedList =
  | 'GET /api/v1/deployments'
  | 'GET /api/v1/jobs'
  | 'GET /api/v1/nodes'
  | 'GET /api/v1/dvm/volumes';

const LISTS: readonly {
  readonly operation: NamedList;
  /** As other pages keep it. */
  readonly key: string;
  readonly group: string;
  readonly icon: IconName;
  readonly to: (one: { readonly id: string; readonly name: string }) => string;
}[] = [
  {
    operation: 'GET /api/v1/deployments',
    key: 'deployments',
    group: 'Deployments',
    icon: 'layers',
    to: ({ name }) => `/deployments/${name}`,
  },
  {
    operation: 'GET /api/v1/jobs',
    key: 'jobs',
    group: 'Jobs',
    icon: 'clock',
    to: ({ name }) => `/jobs/${name}`,
  },
  {
    operation: 'GET /api/v1/nodes',
    key: 'nodes',
    group: 'Nodes',
    icon: 'server',
    to: ({ name }) => `/nodes/${name}`,
  },
  {
    operation: 'GET /api/v1/dvm/volumes',
    key: 'volumes',
    group: 'Volumes',
    icon: 'disk',
    to: ({ id }) => `/volumes/${id}`,
  },
];

interface Named {
  readonly id: string;
  readonly name: string;
}

async function firstPages(
  api: Client,
  operation: NamedList,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly Named[]; readonly isPartial: boolean }> {
  const rows: Named[] = [];
  let pages = 0;
  for await (const page of api.pages(operation, { signal })) {
    if (pages === MAX_PAGES) return { rows, isPartial: true };
    rows.push(...page.map(({ id, name }) => ({ id, name })));
    pages += 1;
  }
  return { rows, isPartial: false };
}

/** Names of the tenant's records: from lists that a page has read already, else their first pages. */
export function useNamedRecords(): Found {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: [tenant.id, 'palette'],
    queryFn: async ({ signal }): Promise<Found> => {
      const read = await Promise.all(
        LISTS.map(async ({ operation, key, group, icon, to }) => {
          const kept = queries.getQueryData<readonly Named[]>([tenant.id, key]);
          const { rows, isPartial } =
            kept === undefined ? await firstPages(api, operation, signal) : { rows: kept, isPartial: false };
          const items = rows.map((one): Item => ({ id: to(one), group, title: one.name, icon, to: to(one) }));
          return { items, isPartial };
        }),
      );
      return {
        items: read.flatMap(({ items }) => items),
        isPartial: read.some(({ isPartial }) => isPartial),
      };
    },
    staleTime: FRESH_MS,
    refetchInterval: false,
  });
  return data ?? { items: [], isPartial: false };
}

/** A deployment of exactly this name, where the list was too long to be looked through. */
export function useExactDeployment(name: string, isWanted: boolean): readonly Item[] {
  const api = useApi();
  const { tenant } = useSession();
  const { data } = useQuery({
    queryKey: [tenant.id, 'palette', 'exact', name],
    queryFn: ({ signal }) =>
      api
        .callUnless(['deployment_not_found'], 'GET /api/v1/deployments/{name}', { params: { name }, signal })
        .then((found) => found?.name ?? null),
    enabled: isWanted && /^[a-z][a-z0-9-]{0,62}$/.test(name),
    staleTime: FRESH_MS,
    refetchInterval: false,
  });
  return useMemo(
    () =>
      data === undefined || data === null
        ? []
        : [
            {
              id: `/deployments/${data}`,
              group: 'Deployments',
              title: data,
              icon: 'layers',
              to: `/deployments/${data}`,
            },
          ],
    [data],
  );
}
