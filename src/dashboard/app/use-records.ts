import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi, useSession } from './session.tsx';

interface ReadOptions {
  readonly everyMs?: number;
  readonly enabled?: boolean;
}

function settings({ everyMs, enabled = true }: ReadOptions) {
  return { enabled, ...(everyMs === undefined ? {} : { refetchInterval: everyMs }) };
}

/** Every record of a list of the tenant. `list` is the name by which events make it stale. */
export function useRecords<T>(list: string, path: string, options: ReadOptions = {}) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, list],
    queryFn: ({ signal }) => api.list<T>(path, { signal }),
    ...settings(options),
  });
}

/** One record, or a list that belongs to it; made stale together with the list it is of. */
export function useRecord<T>(list: string, path: string, options: ReadOptions = {}) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, list, path],
    queryFn: ({ signal }) => api.get<T>(path, { signal }),
    ...settings(options),
  });
}

/** After a write: these lists are read again. */
export function useReread(): (...lists: readonly string[]) => Promise<void> {
  const queries = useQueryClient();
  const { tenant } = useSession();
  return async (...lists) => {
    await Promise.all(lists.map((list) => queries.invalidateQueries({ queryKey: [tenant.id, list] })));
  };
}
