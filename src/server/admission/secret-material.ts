import type { DeploymentDraft } from '../../core/contract/deployment-body.ts';
import type { Alteration } from '../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Commit } from '../store/kv.ts';

/** Material that arrives with a deployment, on its way to the secrets store. */
export interface SecretMaterial {
  /** Stateful secret rules: split across the tenant, anchors, known collisions. */
  rejection(tenantId: TenantId, spec: DeploymentSpec, previous: DeploymentSpec | undefined): Promise<Rejection | undefined>;
  /** What the write will put into the secrets store, and how that is announced. Nothing is written yet. */
  plan(tenantId: TenantId, draft: DeploymentDraft): Promise<PlannedMaterial | Rejection>;
}

export interface PlannedMaterial {
  readonly alterations: readonly Alteration[];
  /** For a store that shares the transaction; a remote store is written by `apply`, just before the commit. */
  readonly commit: Commit;
  readonly apply: () => Promise<Rejection | undefined>;
}
