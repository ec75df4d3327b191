import { BACKUPS } from './backups.ts';
import { CANARIES } from './canaries.ts';
import { DEPLOYMENTS } from './deployments.ts';
import { ARCHIVES, AUDIT, EVENTS } from './history.ts';
import { INGRESS } from './ingress.ts';
import { INSTANCES } from './instances.ts';
import { JOBS } from './jobs.ts';
import { JOIN_TOKENS } from './join-tokens.ts';
import { NETWORKS } from './networks.ts';
import { NODES, SCHEDULER } from './nodes.ts';
import { RECOMMENDATIONS } from './recommendations.ts';
import { SCALING_POLICIES } from './scaling-policies.ts';
import { SECRETS } from './secrets.ts';
import { SESSION } from './session.ts';
import { SETS } from './sets.ts';
import { SYSTEM } from './system.ts';
import { TENANTS } from './tenants.ts';
import { TOKENS } from './tokens.ts';
import { USAGE_HISTORY } from './usage-history.ts';
import { VOLUMES } from './volumes.ts';
import { WEBHOOKS } from './webhooks.ts';

/** Every operation under /api/v1. Clients take its types alone, so that no shape is loaded by them. */
export const OPERATIONS = {
  deployments: DEPLOYMENTS,
  scalingPolicies: SCALING_POLICIES,
  usageHistory: USAGE_HISTORY,
  canaries: CANARIES,
  instances: INSTANCES,
  jobs: JOBS,
  secrets: SECRETS,
  nodes: NODES,
  scheduler: SCHEDULER,
  joinTokens: JOIN_TOKENS,
  networks: NETWORKS,
  ingress: INGRESS,
  events: EVENTS,
  archives: ARCHIVES,
  audit: AUDIT,
  backups: BACKUPS,
  volumes: VOLUMES,
  sets: SETS,
  recommendations: RECOMMENDATIONS,
  webhooks: WEBHOOKS,
  tenants: TENANTS,
  tokens: TOKENS,
  session: SESSION,
  system: SYSTEM,
};
