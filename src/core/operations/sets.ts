import { setPlan } from '../contract/answers/set.ts';
import { operation } from './operation.ts';

export const SETS = {
  plan: operation({
    method: 'POST',
    path: '/api/v1/apply',
    summary: 'What writing a set of documents would do, each judged as if those before it existed',
    tag: 'Sets',
    permission: ['deploy', 'volumes.manage'],
    tenant: 'credential',
    query: {
      dryRun: {
        description: 'Has to be true: each document has its own write.',
        schema: { type: 'boolean', enum: [true] },
        required: true,
      },
      all: {
        description: 'Of documents that are refused: every rejection, not only the first.',
        schema: { type: 'boolean', default: false },
        sameAnswer: true,
      },
    },
    body: {
      shape: {
        type: 'list',
        description:
          'Documents of kind Network, Volume, Secret, Deployment (if none is said), ScalingPolicy (under the name of its deployment), Job and Webhook, in any order.',
        items: { type: 'map', items: { type: 'any', schema: {} }, sensitive: true },
      },
      yaml: true,
    },
    codes: ['apply_dry_run_only', 'document_described_twice'],
    success: { status: 200, description: 'The plan of the whole set; nothing is stored.', answer: setPlan },
  }),
};
