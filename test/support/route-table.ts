import type { Route } from '../../src/server/api/route.ts';
import { apiRoutes, type RouteDependencies } from '../../src/server/api/routes/index.ts';

/** The table alone is read; no handler is called, so nothing has to be wired. */
export function routeTable(): readonly Route[] {
  const nothing: Partial<RouteDependencies> = { admission: {} as RouteDependencies['admission'] };
  return apiRoutes(nothing as RouteDependencies);
}
