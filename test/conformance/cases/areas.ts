import type { Case } from './case.ts';
import { deploymentCases } from './deployment.ts';
import { healthCheckCases } from './health-check.ts';
import { networkCases } from './networks.ts';
import { jobCases, jobWithoutNodesCases } from './jobs.ts';
import { nodeCases } from './nodes.ts';
import { placementCases } from './placement.ts';
import { recommendationCases } from './recommendations.ts';
import { recordCases, requestCases } from './request.ts';
import { rotationHookCases } from './rotation-hooks.ts';
import { secretMaterialCases } from './secret-material.ts';
import { scalingCases } from './scaling.ts';
import { secretCases } from './secrets.ts';
import { volumeCases } from './volumes.ts';
import { webhookCases } from './webhooks.ts';
import { workloadCases } from './workload.ts';

/** Every case by area; an area has a tenant of its own. */
export const AREAS: Readonly<Record<string, readonly Case[]>> = {
  deployment: deploymentCases,
  'health-check': healthCheckCases,
  secrets: secretCases,
  'secret-material': secretMaterialCases,
  'rotation-hooks': rotationHookCases,
  placement: placementCases,
  nodes: nodeCases,
  networks: networkCases,
  jobs: jobCases,
  'jobs-without-nodes': jobWithoutNodesCases,
  workload: workloadCases,
  volumes: volumeCases,
  recommendations: recommendationCases,
  scaling: scalingCases,
  webhooks: webhookCases,
  request: requestCases,
  records: recordCases,
};
