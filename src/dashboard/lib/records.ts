import type { Alteration, Warning } from '../../core/model/announcement.ts';
import type {
  DeploymentPhase,
  DeploymentSpec,
  InstanceView,
  RotatedVersions,
  RotationPhase,
} from '../../core/model/deployment.ts';
import type { ArchiveChange, EventRecord } from '../../core/model/event.ts';
import type { Permission } from '../../core/model/permission.ts';
import type { ScalingPolicy, ScalingView } from '../../core/model/scaling.ts';
import type { Role } from '../../core/model/tenant.ts';

/** Records as the wire carries them. What the model has already is taken from there. */
export interface Deployment extends DeploymentSpec {
  readonly id: string;
  readonly tenantId: string;
  readonly revision: number;
  readonly specHash: string;
  /** What runs; absent: the registry could not be asked. */
  readonly imageDigest?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly storedLabels: Readonly<Record<string, string>>;
  readonly status: {
    readonly phase: DeploymentPhase;
    readonly since?: string;
    readonly message: string;
    readonly desired: number;
    readonly placed: number;
    readonly running: number;
    readonly healthy: number;
    readonly updated: number;
    readonly secretsVersion: number;
    readonly rotation: {
      readonly phase: RotationPhase | null;
      readonly next: RotationPhase;
      /** By path, while it takes part in the rotation of any. */
      readonly delivered?: Readonly<Record<string, RotatedVersions>>;
    };
    readonly instances: readonly InstanceView[];
    readonly canary?: {
      readonly image: string;
      readonly replicas: number;
      readonly placed: number;
      readonly running: number;
      readonly healthy: number;
      readonly message: string;
      readonly createdAt: string;
    };
  };
}

export interface ScalingPolicyView extends ScalingPolicy {
  readonly status: ScalingView | null;
}

export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

export interface Reason {
  readonly filter: string;
  readonly code: string;
  readonly required: string;
  readonly reported: string;
  readonly message: string;
}

export interface PlacementPlan {
  readonly instances: readonly { readonly node: string; readonly why: string }[];
  readonly unplaced?: {
    readonly count: number;
    readonly summary: string;
    readonly nodes: readonly { readonly node: string; readonly reasons: readonly Reason[] }[];
  };
  readonly waitingFor: readonly string[];
  readonly diff?: readonly FieldChange[];
}

export interface DeploymentWritten extends Deployment {
  readonly alterations: readonly Alteration[];
  readonly warnings: readonly Warning[];
  readonly removed: readonly string[];
  readonly plan?: PlacementPlan;
}

export interface Instance {
  readonly id: string;
  readonly deployment: string;
  readonly nodeId: string;
  readonly specHash: string;
  readonly secretsVersion: number;
  readonly wanted: 'run' | 'stop';
  readonly canary?: boolean;
  readonly createdAt: string;
  readonly attempt: number;
  readonly state: string;
  readonly health?: 'starting' | 'healthy' | 'unhealthy';
  readonly containerName?: string;
  readonly containerId?: string;
  readonly exitCode?: number;
  readonly restarts?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly ports?: readonly { readonly container: number; readonly host: number }[];
  readonly usage?: { readonly cpuPercent: number; readonly memoryBytes: number };
}

export interface Node {
  readonly id: string;
  readonly name: string;
  readonly tenantId: string;
  readonly claims: readonly string[];
  readonly status: 'ready' | 'failed';
  readonly schedulable: boolean;
  readonly draining?: boolean;
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: { readonly cpu: number; readonly memoryBytes: number };
  readonly requested: { readonly cpu: number; readonly memoryBytes: number };
  readonly engine: { readonly kind: string; readonly version: string };
  readonly platform: string;
  readonly agentVersion: string;
  readonly lastSeenAt: string | null;
}

export interface Archive {
  readonly version: number;
  readonly change: ArchiveChange;
  readonly at: string;
  readonly by: string;
  readonly spec: DeploymentSpec;
  readonly specHash: string;
}

export interface Explanation {
  readonly deployment: string;
  readonly instances: readonly { readonly id: string; readonly node: string; readonly current: boolean }[];
  readonly nodes: readonly {
    readonly node: string;
    readonly fits: boolean;
    readonly outcomes: readonly {
      readonly filter: string;
      readonly passed: boolean;
      readonly required: string;
      readonly reported: string;
    }[];
    readonly reasons: readonly Reason[];
  }[];
  readonly chosen?: { readonly node: string; readonly why: string };
  readonly summary: string;
  readonly waitingFor: readonly string[];
  readonly misplaced: readonly {
    readonly id: string;
    readonly node: string;
    readonly reasons: readonly Reason[];
  }[];
  readonly warnings: readonly Warning[];
}

export interface Recommendation {
  readonly id: string;
  readonly applicable: boolean;
  readonly type: string;
  readonly priority: 'critical' | 'high' | 'medium' | 'low';
  readonly volume_id: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly reason: string;
}

export interface TenantSummary {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

export interface SessionView {
  readonly tokenId: string;
  readonly role: Role;
  readonly permissions: readonly Permission[];
  readonly tenant: TenantSummary;
  readonly expiresAt?: string;
  readonly csrfToken?: string;
}

export type Event = EventRecord;
