import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useApi, useSession } from '../../app/session.tsx';
import { sinceTime } from './audit-words.ts';

/** Not with every event: the whole period is read. */
const REREAD_MS = 30_000;

/** Oldest first, of so many hours; undefined: all that is kept. */
export function useAudit(hours: number | undefined) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'audit-log', hours],
    queryFn: ({ signal }) =>
      api.list('GET /api/v1/audit', { query: { since: sinceTime(hours, Date.now()) }, signal }),
    refetchInterval: REREAD_MS,
    placeholderData: keepPreviousData,
  });
}
