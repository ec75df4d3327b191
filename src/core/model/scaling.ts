/** How many instances a deployment may have, and the load that they are to have. */
export interface ScalingPolicy {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Of the CPU that an instance may use: its limit, else its request, else one core. */
  readonly targetCpuPercent: number;
  /** Between two changes, and how long a load must stay low before instances go. */
  readonly cooldown: string;
}

export interface ScalingPolicyRecord extends ScalingPolicy {
  readonly createdAt: string;
  readonly updatedAt: string;
}

export function policyOf({
  minReplicas,
  maxReplicas,
  targetCpuPercent,
  cooldown,
}: ScalingPolicy): ScalingPolicy {
  return { minReplicas, maxReplicas, targetCpuPercent, cooldown };
}

/** 0 is the wish to stop, which no policy overrides. */
export function withinPolicy(replicas: number, { minReplicas, maxReplicas }: ScalingPolicy): number {
  return replicas === 0 ? 0 : Math.min(maxReplicas, Math.max(minReplicas, replicas));
}

/** What a policy last saw and did; kept in memory, so absent right after a start. */
export interface ScalingView {
  readonly state: 'active' | 'paused';
  readonly message: string;
  readonly replicas: number;
  /** Smoothed mean over the instances, in the unit of `targetCpuPercent`. */
  readonly cpuPercent?: number;
  readonly measured: number;
}
