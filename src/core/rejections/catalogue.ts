import { deploymentCodes } from './deployment.ts';
import { healthCheckCodes } from './health-check.ts';
import { placementCodes } from './placement.ts';
import { secretCodes } from './secrets.ts';
import { volumeCodes } from './volumes.ts';
import { requestCodes } from './request.ts';
import { recordCodes } from './records.ts';
import type { CatalogueEntry } from './entry.ts';

/** Every code the product can answer with; the areas of spec §7 first, then the extensions. */
const AREAS = {
  ...deploymentCodes,
  ...healthCheckCodes,
  ...secretCodes,
  ...placementCodes,
  ...volumeCodes,
  ...requestCodes,
  ...recordCodes,
};

export type RejectionCode = keyof typeof AREAS;

export const CATALOGUE: Readonly<Record<RejectionCode, CatalogueEntry>> = AREAS;
