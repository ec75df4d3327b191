import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLiveEvents } from '../../app/live.tsx';
import { useApi, useSession } from '../../app/session.tsx';
import type { Event } from '../../lib/records.ts';
import { merged } from './event-filter.ts';

/** Read once, and kept up to date by the stream: reading thousands again for each of them would be waste. */
export function useEventLog(hours: number) {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const queryKey = [tenant.id, 'event-log', hours];
  useLiveEvents((event) => {
    queries.setQueryData<readonly Event[]>(queryKey, (known) => known && merged(known, [event]));
  });
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const since = new Date(Date.now() - hours * 3_600_000).toISOString();
      const read = await api.list('GET /api/v1/events', { signal, query: { since } });
      // What came over the stream meanwhile is not lost.
      return merged(queries.getQueryData<readonly Event[]>(queryKey) ?? [], read.toReversed()).toSorted(
        (a, b) => (a.id < b.id ? 1 : -1),
      );
    },
    refetchInterval: false,
    staleTime: 60_000,
  });
}
