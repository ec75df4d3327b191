import type { QueryClient } from '@tanstack/react-query';
import { apiOf } from '../lib/api.ts';
import { FIRST_ROWS, hasBegunDeployments } from '../lib/begun.ts';
import { chosenTenant, sessionQuery } from './session-query.ts';

/** Whatever is not there by then is waited for on the screen. */
const PATIENCE_MS = 150;

/** Who this is and, where the page shows deployments, the first of them: what was begun, as the queries of the page would read it. */
async function readBegun(queries: QueryClient, late: AbortSignal): Promise<void> {
  const chosen = chosenTenant();
  const view = await queries.fetchQuery(sessionQuery(chosen));
  // From then on the page asks by itself, and takes what was begun.
  if (late.aborted || view === null || !hasBegunDeployments()) return;
  const api = apiOf({ tenant: view.tenant.id, chosen });
  const first = await api.call('GET /api/v1/deployments', {
    query: { limit: FIRST_ROWS },
    signal: late,
  });
  const queryKey = [view.tenant.id, 'deployments'];
  // The page may have more of them by now.
  if (late.aborted || queries.getQueryData(queryKey) !== undefined) return;
  queries.setQueryData(queryKey, first);
  // The rest is still to be read, and what changed before there was a stream of events.
  await queries.invalidateQueries({ queryKey, refetchType: 'none' });
}

/**
 * Resolves when the first page can be drawn with what it shows, in one go instead of three (starting, an empty page, its rows), or when that takes
 * too long. What fails here is asked again, and told, by the page.
 */
export async function prepared(queries: QueryClient, code: Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const ready = Promise.all([code, readBegun(queries, late)]).catch(() => undefined);
  await Promise.race([ready, new Promise((resolve) => late.addEventListener('abort', resolve))]);
}
