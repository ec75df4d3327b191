import type { TenantId } from './ids.ts';

export const SUBJECT_KINDS = [
  'Deployment',
  'Node',
  'Volume',
  'Network',
  'Job',
  'Backup',
  'Secret',
  'Tenant',
  'Token',
  'Instance',
  'ControlPlane',
  'Webhook',
] as const;

export interface EventSubject {
  readonly kind: (typeof SUBJECT_KINDS)[number];
  readonly name: string;
}

/** Published; `details` is structured and never holds a secret value. */
export interface EventRecord {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly tenantId: TenantId;
  readonly subject: EventSubject;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditRecord {
  readonly id: string;
  readonly at: string;
  /** Token id, or `system` for controllers. */
  readonly actor: string;
  readonly actorTenantId?: TenantId;
  readonly role: string;
  readonly tenantId: TenantId;
  readonly action: string;
  readonly subject: EventSubject;
  readonly result: 'accepted';
  readonly requestId: string;
  /** Address of the connection; absent for the system. */
  readonly source?: string;
  /** The origin as a proxy, or a client that pretends to be one, claims it. */
  readonly forwardedFor?: string;
  /** What was done, where the action alone does not say it; never a secret value. */
  readonly details?: Readonly<Record<string, string | number>>;
}

export type ArchiveChange = 'created' | 'updated' | 'rotated' | 'rolled-back' | 'restored' | 'deleted';

/** How a version came to be. */
export interface VersionOrigin {
  readonly change: ArchiveChange;
  readonly at: string;
  readonly by: string;
}

/** One version of a deployment's configuration, kept after deletion. */
export interface ArchiveRecord<Spec> extends VersionOrigin {
  readonly version: number;
  readonly spec: Spec;
  readonly specHash: string;
  /** What the image was; absent: the registry could not be asked. */
  readonly imageDigest?: string;
}
