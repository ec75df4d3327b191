import { focusManager, type Query, type QueryCacheConfig, type QueryClient } from '@tanstack/react-query';
import { UnreachableError } from '../../sdk/index.ts';

/** After which the page asks again for what nobody answered, rather than with its next reading in half a minute. */
const AGAIN_MS = 3000;
/** Of what has no reading of its own. */
const LONGEST_MS = 30_000;

interface Unanswered {
  readonly times: number;
  readonly timer: ReturnType<typeof setTimeout> | undefined;
}

type AnyQuery = Query<unknown, unknown, unknown>;

/** In how long the query is read anyway, for the most impatient of those who show it. */
function intervalMs(query: AnyQuery): number | undefined {
  const all = query.observers.flatMap(({ options: { refetchInterval: every } }) => {
    const ms = typeof every === 'function' ? every(query) : every;
    return typeof ms === 'number' && ms > 0 ? [ms] : [];
  });
  return all.length === 0 ? undefined : Math.min(...all);
}

/**
 * What nobody answered is asked again while somebody looks (who comes back reads anew in any case): each time after twice as long, until the
 * reading of its own comes sooner. Scattered: all pages of a control plane that is starting again would ask it in the same moment.
 */
export function askAgain(queries: () => QueryClient): QueryCacheConfig {
  const unanswered = new WeakMap<AnyQuery, Unanswered>();
  return {
    onSuccess: (_, query) => {
      clearTimeout(unanswered.get(query)?.timer);
      unanswered.delete(query);
    },
    onError: (error, query) => {
      const before = unanswered.get(query);
      clearTimeout(before?.timer);
      if (!(error instanceof UnreachableError)) {
        unanswered.delete(query);
        return;
      }
      const times = (before?.times ?? 0) + 1;
      const every = intervalMs(query);
      const afterMs = Math.min(LONGEST_MS, AGAIN_MS * 2 ** (times - 1)) * (1 + Math.random() / 2);
      const again = () => {
        if (!focusManager.isFocused()) return;
        const { queryKey } = query;
        const filters = { queryKey, exact: true, type: 'active', stale: true } as const;
        void queries().refetchQueries(filters, { cancelRefetch: false });
      };
      const isSooner = every === undefined || afterMs < every;
      unanswered.set(query, { times, timer: isSooner ? setTimeout(again, afterMs) : undefined });
    },
  };
}
