import { useMemo } from 'react';
import { useSession } from '../../app/session.tsx';
import { useRecords } from '../../app/use-records.ts';

/** Names of tokens by id, for those who may read them: names say more than ids. */
export function useTokenNames(): ReadonlyMap<string, string> {
  const { can } = useSession();
  const { data } = useRecords('tokens', 'GET /api/v1/tokens', { enabled: can('tokens.manage') });
  return useMemo(() => new Map(data?.map(({ id, name }) => [id, name])), [data]);
}
