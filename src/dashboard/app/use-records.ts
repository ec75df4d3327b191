import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { CallOptions, ItemOf, ListName, OperationName } from '../../sdk/index.ts';
import { useApi, useSession } from './session.tsx';

interface ReadOptions {
  readonly everyMs?: number;
  readonly enabled?: boolean;
}

function settings({ everyMs, enabled = true }: ReadOptions) {
  return { enabled, ...(everyMs === undefined ? {} : { refetchInterval: everyMs }) };
}

/** Lists that are the tenant's as a whole, not those of one record. */
type WholeList = { [N in ListName]: N extends `${string}{${string}` ? never : N }[ListName];

/** Every record of a list of the tenant. `list` is the name by which events make it stale. */
export function useRecords<N extends WholeList>(list: string, operation: N, options: ReadOptions = {}) {
  // Nothing has to be said of a whole list.
  const asked = {} as CallOptions<N>;
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, list],
    queryFn: ({ signal }): Promise<readonly ItemOf<N>[]> => api.list(operation, { ...asked, signal }),
    ...settings(options),
  });
}

/** Of one record; made stale together with the list that it is of. */
function useOf<N extends OperationName, T>(
  list: string,
  operation: N,
  asked: CallOptions<N>,
  options: ReadOptions,
  read: (signal: AbortSignal) => Promise<T>,
) {
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, list, operation, asked],
    queryFn: ({ signal }) => read(signal),
    ...settings(options),
  });
}

/** Every record of a list that belongs to one record. */
export function useRecordsOf<N extends ListName>(
  list: string,
  operation: N,
  asked: CallOptions<N>,
  options: ReadOptions = {},
) {
  const api = useApi();
  return useOf(
    list,
    operation,
    asked,
    options,
    (signal): Promise<readonly ItemOf<N>[]> => api.list(operation, { ...asked, signal }),
  );
}

/** One record, or the first page of a list. */
export function useRecord<N extends OperationName>(
  list: string,
  operation: N,
  asked: CallOptions<N>,
  options: ReadOptions = {},
) {
  const api = useApi();
  return useOf(list, operation, asked, options, (signal) => api.call(operation, { ...asked, signal }));
}

/** After a write: these lists are read again. */
export function useReread(): (...lists: readonly string[]) => Promise<void> {
  const queries = useQueryClient();
  const { tenant } = useSession();
  return async (...lists) => {
    await Promise.all(lists.map((list) => queries.invalidateQueries({ queryKey: [tenant.id, list] })));
  };
}
