import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ContainerDefaults } from '../../../core/model/container-defaults.ts';
import type { tenant as tenantAnswer } from '../../../core/contract/answers/access.ts';
import type { Answer } from '../../../core/contract/shape.ts';
import type { Quota, Tenant } from '../../../core/model/tenant.ts';
import { useApi } from '../../app/session.tsx';

export interface TenantView extends Tenant {
  readonly quota: Quota;
  readonly containerDefaults: {
    readonly set: Partial<ContainerDefaults>;
    readonly effective: ContainerDefaults;
  };
}

/** Of the whole platform, so not under the chosen tenant; the picker reads the same. */
const KEY = ['tenants'];

export function useTenants() {
  const api = useApi();
  return useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => api.list<TenantView>('/api/v1/tenants', { signal }),
  });
}

/** A tenant is read for itself, whichever is chosen: header and path may not name two. */
const actingFor = (id: string) => ({ 'x-tenant-id': id });

export function useTenantUsage(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      api.get<Pick<Answer<typeof tenantAnswer>, 'usage'>>(`/api/v1/tenants/${id}`, {
        signal,
        headers: actingFor(id),
      }),
  });
}

/** The quota with what `changes` makes of it: limits that a form does not show stay, and so does what another wrote meanwhile. */
export async function changeQuota(
  api: ReturnType<typeof useApi>,
  id: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const path = `/api/v1/tenants/${id}`;
  const read = await api.send('GET', path, { headers: actingFor(id) });
  const { quota } = (await read.json()) as TenantView;
  const etag = read.headers.get('etag');
  await api.call('PUT', `${path}/quota`, {
    body: { ...quota, ...changes },
    headers: etag === null ? {} : { 'if-match': etag },
  });
}

export function useRereadTenants(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: KEY });
}
