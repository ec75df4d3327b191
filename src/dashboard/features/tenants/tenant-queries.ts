import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Client } from '../../../sdk/index.ts';
import { useApi } from '../../app/session.tsx';

/** Of the whole platform, so not under the chosen tenant. */
const KEY = ['tenants'];
/** How tenants stand moves without an event of the chosen one. */
const STANDING_MS = 10_000;

export function useTenants() {
  const api = useApi();
  return useQuery({
    queryKey: [...KEY, 'standing'],
    queryFn: ({ signal }) => api.list('GET /api/v1/tenants', { signal, query: { standing: true } }),
    refetchInterval: STANDING_MS,
  });
}

/** A tenant is read for itself, whichever is chosen: header and path may not name two. */
const itself = (id: string) => ({ params: { tenant: id }, tenant: id });

export function useTenantUsage(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) => api.call('GET /api/v1/tenants/{tenant}', { ...itself(id), signal }),
  });
}

/** The quota with what `changes` makes of it: limits that a form does not show stay, and so does what another wrote meanwhile. */
export async function changeQuota(
  api: Client,
  id: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { body, etag } = await api.reply('GET /api/v1/tenants/{tenant}', itself(id));
  await api.call('PUT /api/v1/tenants/{tenant}/quota', {
    params: { tenant: id },
    body: { ...body.quota, ...changes },
    ifMatch: etag,
  });
}

export function useRereadTenants(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: KEY });
}
