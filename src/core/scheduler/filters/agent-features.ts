import type { Filter } from './filter.ts';

/** An agent that does not know a security field would run the workload without it. */
export const agentFeatures: Filter = {
  name: 'agent-features',
  label: 'agent too old',
  scope: 'node',
  steady: true,
  admits: ({ node }, request) =>
    (request.features ?? []).every((needed) => node.record.features?.includes(needed)),
  required: (request) => request.features?.join(', ') ?? 'nothing',
  reported: ({ node }) => node.record.features?.join(', ') || 'no features',
  refusal: () => ({
    code: 'agent_too_old',
    message:
      'its agent knows nothing of user, readOnlyRootFilesystem and capabilities, and would run the workload without them; upgrade the agent',
  }),
};
