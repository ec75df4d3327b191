import type { Admission } from '../../admission/admission.ts';
import type { Route } from '../route.ts';
import { accessRoutes } from './access.ts';
import { deploymentRoutes } from './deployments.ts';
import { historyRoutes } from './history.ts';
import { secretRoutes } from './secrets.ts';

export interface RouteDependencies {
  readonly admission: Admission;
  readonly tokenKey: Buffer;
}

/** Every route under /api/v1, one list. */
export function apiRoutes({ admission, tokenKey }: RouteDependencies): readonly Route[] {
  return [
    ...deploymentRoutes(admission),
    ...secretRoutes(admission),
    ...historyRoutes(),
    ...accessRoutes(admission, tokenKey),
  ];
}
