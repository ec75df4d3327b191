import type { DeploymentSpec } from '../model/deployment.ts';
import { countedResources, type DefaultRequest, NO_DEFAULT } from '../model/counted.ts';
import { parseDuration } from '../model/quantity.ts';
import type { ScalingPolicy } from '../model/scaling.ts';
import type { Quota } from '../model/tenant.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { firstRejection, type Rule } from './rule.ts';

const MIN_COOLDOWN_MS = 1000;
const MAX_COOLDOWN_MS = 24 * 3_600_000;

export interface ScalingPolicyInput {
  readonly policy: Partial<ScalingPolicy>;
  readonly maxReplicasPerDeployment: number;
  readonly spec: Pick<DeploymentSpec, 'volumes' | 'resources'>;
  readonly quota: Quota;
  /** What a container without request and limit counts; absent: nothing. */
  readonly defaultRequest?: DefaultRequest;
}

function invalid(field: keyof ScalingPolicy, value: unknown, expected: string, why: string): Rejection {
  return reject('scaling_policy_invalid', { field, received: received(value), expected, why });
}

const minimum: Rule<ScalingPolicyInput> = ({ policy: { minReplicas = 0 } }) =>
  Number.isInteger(minReplicas) && minReplicas >= 1
    ? undefined
    : invalid(
        'minReplicas',
        minReplicas,
        'an integer of 1 or more',
        'Without an instance nothing is measured, so a policy could never start one again; stop a deployment with replicas 0.',
      );

const maximum: Rule<ScalingPolicyInput> = ({ policy: { maxReplicas }, maxReplicasPerDeployment: most }) =>
  maxReplicas !== undefined && Number.isInteger(maxReplicas) && maxReplicas >= 1 && maxReplicas <= most
    ? undefined
    : invalid(
        'maxReplicas',
        maxReplicas,
        `an integer from 1 to ${most}`,
        'A policy needs an upper bound that replicas may have.',
      );

const order: Rule<ScalingPolicyInput> = ({ policy: { minReplicas = 1, maxReplicas = 1 } }) =>
  minReplicas <= maxReplicas
    ? undefined
    : invalid(
        'minReplicas',
        minReplicas,
        `at most maxReplicas, ${maxReplicas}`,
        'No number lies between the bounds.',
      );

const target: Rule<ScalingPolicyInput> = ({ policy: { targetCpuPercent } }) =>
  targetCpuPercent !== undefined && targetCpuPercent >= 1 && targetCpuPercent <= 100
    ? undefined
    : invalid(
        'targetCpuPercent',
        targetCpuPercent,
        'a number from 1 to 100',
        'The target is the share of its CPU that each instance is to use.',
      );

const cooldown: Rule<ScalingPolicyInput> = ({ policy }) => {
  const ms = parseDuration(policy.cooldown ?? '');
  return ms !== undefined && ms >= MIN_COOLDOWN_MS && ms <= MAX_COOLDOWN_MS
    ? undefined
    : invalid(
        'cooldown',
        policy.cooldown,
        'a duration from 1s to 24h, such as 60s',
        'The cooldown is not a duration in its range.',
      );
};

const singleWriter: Rule<ScalingPolicyInput> = ({ policy: { maxReplicas = 1 }, spec }) =>
  maxReplicas > 1 && spec.volumes?.some((mount) => !mount.readOnly)
    ? invalid(
        'maxReplicas',
        maxReplicas,
        '1, or a deployment whose volumes are mounted read-only',
        'A read-write volume allows one instance.',
      )
    : undefined;

/** How many instances of the spec the whole quota would hold; what others use now is not asked, as it changes. */
export function quotaRoom(
  { resources }: ScalingPolicyInput['spec'],
  quota: Quota,
  fallback: DefaultRequest = NO_DEFAULT,
): number {
  const { cpu, memoryBytes: bytes } = countedResources(resources, fallback);
  return Math.min(
    quota.containers ?? Number.POSITIVE_INFINITY,
    quota.cpu === undefined || cpu === 0 ? Number.POSITIVE_INFINITY : Math.floor(quota.cpu / cpu),
    quota.memoryBytes === undefined || bytes === 0
      ? Number.POSITIVE_INFINITY
      : Math.floor(quota.memoryBytes / bytes),
  );
}

const withinQuota: Rule<ScalingPolicyInput> = ({
  policy: { minReplicas = 1 },
  spec,
  quota,
  defaultRequest,
}) => {
  const room = quotaRoom(spec, quota, defaultRequest);
  return minReplicas <= room
    ? undefined
    : invalid(
        'minReplicas',
        minReplicas,
        `at most ${room}, what the quota of the tenant holds`,
        'The minimum could never be reached.',
      );
};

const RULES: readonly Rule<ScalingPolicyInput>[] = [
  minimum,
  maximum,
  order,
  target,
  cooldown,
  singleWriter,
  withinQuota,
];

/** The last two need the stored deployment and the quota; all are asked again when one of them moves under the write. */
export function scalingPolicyRejection(input: ScalingPolicyInput): Rejection | undefined {
  return firstRejection(RULES, input);
}
