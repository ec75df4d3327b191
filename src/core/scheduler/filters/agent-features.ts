import { CONFINEMENT_FEATURE } from '../../model/confinement.ts';
import { FILES_FEATURE } from '../../model/config-file.ts';
import { NETWORKS_FEATURE } from '../../model/network.ts';
import { STOP_FEATURE } from '../../model/stop.ts';
import type { Filter } from './filter.ts';

const FIELDS: Readonly<Record<string, string>> = {
  [CONFINEMENT_FEATURE]: 'user, readOnlyRootFilesystem and capabilities',
  [NETWORKS_FEATURE]: 'networks',
  [STOP_FEATURE]: 'stop',
  [FILES_FEATURE]: 'files',
};

/** An agent that does not know a security field would run the workload without it. */
export const agentFeatures: Filter = {
  name: 'agent-features',
  scope: 'node',
  steady: true,
  admits: ({ node }, request) =>
    (request.features ?? []).every((needed) => node.record.features?.includes(needed)),
  required: (request) => request.features?.join(', ') ?? 'nothing',
  reported: ({ node }) => node.record.features?.join(', ') || 'no features',
  refusal: ({ node }, request) => {
    const missing = (request.features ?? []).filter((needed) => !node.record.features?.includes(needed));
    const fields = missing.map((feature) => FIELDS[feature] ?? feature).join(', ');
    return {
      code: 'agent_too_old',
      message: `its agent knows nothing of ${fields}, and would run the workload without them; upgrade the agent`,
    };
  },
};
