import type { Alteration } from '../model/announcement.ts';
import type { ScalingPolicy } from '../model/scaling.ts';
import { DURATION } from './forms.ts';
import { type Draft, shape } from '../schema/shape.ts';

const ownCode = 'scaling_policy_invalid';

export const scalingPolicyBody = shape({
  type: 'object',
  fields: {
    minReplicas: {
      type: 'integer',
      form: { minimum: 1 },
      ownCode,
      description: 'Instances that are kept whatever the load.',
      absent: '1, and announced',
      example: 2,
    },
    maxReplicas: {
      type: 'integer',
      form: { minimum: 1 },
      ownCode,
      description:
        'Instances that are never exceeded; at most maxReplicasPerDeployment of the configuration.',
      example: 5,
    },
    targetCpuPercent: {
      type: 'number',
      form: { minimum: 1, maximum: 100 },
      ownCode,
      description:
        'Load to aim at, of the CPU an instance may use: resources.limits.cpu, else requests.cpu, else one core.',
      example: 70,
    },
    cooldown: {
      type: 'string',
      form: DURATION,
      ownCode,
      description: 'Between two changes, and how long a low load must last; 1s to 24h.',
      absent: '60s, and announced',
      example: '60s',
    },
  },
  required: ['maxReplicas', 'targetCpuPercent'],
  named: 'ScalingPolicyDescription',
});

export type ScalingPolicyDraft = Draft<typeof scalingPolicyBody>;

const DEFAULTS = { minReplicas: 1, cooldown: '60s' } as const;

/** A policy is written whole: what is absent gets its default, and that is announced. */
export function withDefaults(draft: ScalingPolicyDraft): {
  readonly policy: Partial<ScalingPolicy>;
  readonly alterations: readonly Alteration[];
} {
  const filled: Alteration[] = [];
  const policy: Record<string, unknown> = {};
  for (const field of ['minReplicas', 'maxReplicas', 'targetCpuPercent', 'cooldown'] as const) {
    const sent = draft[field];
    if (sent !== undefined) policy[field] = sent;
    else if (field === 'minReplicas' || field === 'cooldown') {
      policy[field] = DEFAULTS[field];
      filled.push({ field, from: '(absent)', to: String(DEFAULTS[field]), why: `default ${field}` });
    }
  }
  return { policy, alterations: filled };
}
