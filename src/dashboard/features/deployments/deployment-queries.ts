import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi, useSession } from '../../app/session.tsx';
import type { Deployment } from '../../lib/records.ts';

/** All deployments of the tenant; those that have come so far are shown while the rest is read. */
export function useDeployments() {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const queryKey = [tenant.id, 'deployments'];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      api.list<Deployment>('/api/v1/deployments', { signal }, (rows) => {
        if (queries.getQueryData(queryKey) === undefined) queries.setQueryData(queryKey, rows);
      }),
    // Long lists are kept up to date by events; reading them whole is for what those do not tell.
    refetchInterval: ({ state }) => ((state.data?.length ?? 0) > 500 ? 120_000 : 20_000),
  });
}
