export const RECOMMENDATION_TYPES = ['replication', 'capacity', 'cleanup'] as const;
/** The most urgent first. */
export const RECOMMENDATION_PRIORITIES = ['critical', 'high', 'medium', 'low'] as const;
export const RECOMMENDATION_ACTIONS = ['set_replicas', 'resize'] as const;

export type RecommendationType = (typeof RECOMMENDATION_TYPES)[number];
export type RecommendationPriority = (typeof RECOMMENDATION_PRIORITIES)[number];
export type RecommendationAction = (typeof RECOMMENDATION_ACTIONS)[number];

export interface RecommendationParameters {
  readonly action?: RecommendationAction;
  readonly target_replicas?: number;
  readonly target_size_bytes?: number;
}

/** Computed from live state on every read, never stored. */
export interface Recommendation {
  readonly id: string;
  readonly applicable: boolean;
  readonly type: RecommendationType;
  readonly priority: RecommendationPriority;
  readonly volume_id: string;
  readonly parameters: RecommendationParameters;
  readonly reason: string;
}
