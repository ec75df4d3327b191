import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ContainerDefaults } from '../../../core/model/container-defaults.ts';
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

export function useRereadTenants(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: KEY });
}
