import { queryOptions } from '@tanstack/react-query';
import { RejectionError } from '../../sdk/index.ts';
import { apiOf } from '../lib/api.ts';
import { forgetBegun, TENANT_KEY } from '../lib/begun.ts';
import type { SessionView } from '../lib/records.ts';

/** The tenant is not theirs, or there is none; any other refusal says nothing of it. */
const GONE: ReadonlySet<number> = new Set([403, 404]);

/** The caller for the chosen tenant; when that is gone or not theirs any more, for their own. */
async function whoAmI(tenant: string | undefined, signal: AbortSignal): Promise<SessionView | null> {
  try {
    return await apiOf(tenant === undefined ? {} : { tenant, chosen: tenant }).call('GET /api/v1/session', {
      signal,
    });
  } catch (error) {
    if (!(error instanceof RejectionError)) throw error;
    if (error.status === 401) return null;
    if (tenant === undefined || !GONE.has(error.status)) throw error;
    localStorage.removeItem(TENANT_KEY);
    // Else what was begun for that tenant would be shown as their own.
    forgetBegun();
    return whoAmI(undefined, signal);
  }
}

/** As it was chosen last in this browser. */
export function chosenTenant(): string | undefined {
  return localStorage.getItem(TENANT_KEY) ?? undefined;
}

export function sessionQuery(chosen: string | undefined) {
  return queryOptions({
    queryKey: ['session', chosen],
    queryFn: ({ signal }) => whoAmI(chosen, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
