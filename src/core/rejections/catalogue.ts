import { deploymentCodes } from './deployment.ts';
import type { CatalogueEntry } from './entry.ts';
import { healthCheckCodes } from './health-check.ts';
import { infrastructureCodes } from './infrastructure.ts';
import { placementCodes } from './placement.ts';
import { recordCodes } from './records.ts';
import { requestCodes } from './request.ts';
import { residencyCodes } from './residency.ts';
import { secretMaterialCodes } from './secret-material.ts';
import { secretCodes } from './secrets.ts';
import { volumeCodes } from './volumes.ts';
import { workloadCodes } from './workloads.ts';

/** Every code the product can answer with; area by area. */
const CODES = {
  ...deploymentCodes,
  ...healthCheckCodes,
  ...secretCodes,
  ...secretMaterialCodes,
  ...placementCodes,
  ...volumeCodes,
  ...requestCodes,
  ...workloadCodes,
  ...residencyCodes,
  ...infrastructureCodes,
  ...recordCodes,
};

export type RejectionCode = keyof typeof CODES;

export const CATALOGUE: Readonly<Record<RejectionCode, CatalogueEntry>> = CODES;

export function isRejectionCode(text: string): text is RejectionCode {
  return Object.hasOwn(CATALOGUE, text);
}

export interface CatalogueArea {
  /** Anchor of the area in the documentation. */
  readonly slug: string;
  readonly title: string;
  readonly codes: readonly RejectionCode[];
}

function codesOf(area: Partial<Record<RejectionCode, CatalogueEntry>>): readonly RejectionCode[] {
  return Object.keys(area).filter(isRejectionCode);
}

/** The catalogue by area, in the order of the documentation. Every code is in exactly one area. */
export const CATALOGUE_AREAS: readonly CatalogueArea[] = [
  { slug: 'deployment', title: 'Deployment, name, image, replicas', codes: codesOf(deploymentCodes) },
  { slug: 'health-check', title: 'Health check', codes: codesOf(healthCheckCodes) },
  { slug: 'secrets', title: 'Secrets: references', codes: codesOf(secretCodes) },
  { slug: 'secret-material', title: 'Secrets: material and rotation', codes: codesOf(secretMaterialCodes) },
  { slug: 'placement', title: 'Placement, nodes, networks, jobs', codes: codesOf(placementCodes) },
  { slug: 'volumes', title: 'Volumes and recommendations', codes: codesOf(volumeCodes) },
  { slug: 'request', title: 'The request itself', codes: codesOf(requestCodes) },
  { slug: 'workloads', title: 'Workload settings, scaling, canaries, jobs', codes: codesOf(workloadCodes) },
  { slug: 'residency', title: 'Placement blocks and residency', codes: codesOf(residencyCodes) },
  {
    slug: 'infrastructure',
    title: 'Nodes, agents, networks, volume records',
    codes: codesOf(infrastructureCodes),
  },
  { slug: 'records', title: 'Secret documents, backups, tenants, tokens', codes: codesOf(recordCodes) },
];
