import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { AnswerTo } from '../../../sdk/index.ts';
import { useApi, useSession } from '../../app/session.tsx';

export type UsageHistory = AnswerTo<'GET /api/v1/deployments/{name}/history'>;
export type HistoryKind = 'deployments' | 'nodes';

/** As often as there is a new figure in it. */
const EVERY_MS = 15_000;

export function useHistory(of: HistoryKind, name: string, since: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'history', of, name, since],
    queryFn: ({ signal }): Promise<UsageHistory> => {
      const asked = { params: { name }, query: { since }, signal };
      return of === 'nodes'
        ? api.call('GET /api/v1/nodes/{name}/history', asked)
        : api.call('GET /api/v1/deployments/{name}/history', asked);
    },
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
  });
}
