import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { jobOfOwner, type JobRecord, jobWorkload } from '../../core/model/job.ts';
import { splitSecretPath } from '../../core/model/secret-path.ts';
import type { StoreView, ViewChange } from '../store/view.ts';

/** A deployment, or a job. */
export interface SecretConsumer {
  readonly deployment?: string;
  readonly job?: string;
  readonly secret: string;
  readonly anchor: string;
  readonly secretsVersion: number;
}

/** One deployment's reading of a label; it may read one path through several entries. */
interface Reading {
  readonly namespace: string;
  readonly consumers: SecretConsumer[];
}

/**
 * By deployment. Each reading has its own namespace, because changes may arrive in an order in which the old and the
 * new user of a label overlap (a list after a lost watch tells of additions first).
 */
type Readings = Map<string, Reading>;

/** Which deployments of a tenant read which path: kept from the view's changes, so that no question walks all deployments. */
export class SecretReferences {
  readonly #tenants = new Map<TenantId, Map<string, Readings>>();

  constructor(view: StoreView) {
    for (const tenantId of view.tenantIds()) {
      for (const { record } of view.tenant(tenantId, 'deployments').list()) this.#add(tenantId, record.spec);
      for (const { record } of view.tenant(tenantId, 'jobs').list())
        this.#add(tenantId, jobWorkload(record.spec));
    }
    view.onChange((change) => this.#apply(change));
  }

  #apply({ tenantId, kind, before, after }: ViewChange): void {
    if (tenantId === undefined || (kind !== 'deployments' && kind !== 'jobs')) return;
    const specOf = (record: unknown): DeploymentSpec =>
      kind === 'jobs' ? jobWorkload((record as JobRecord).spec) : (record as DeploymentRecord).spec;
    if (before !== undefined) this.#remove(tenantId, specOf(before.record));
    if (after !== undefined) this.#add(tenantId, specOf(after.record));
  }

  #labels(tenantId: TenantId): Map<string, Readings> {
    let labels = this.#tenants.get(tenantId);
    if (labels === undefined) {
      labels = new Map();
      this.#tenants.set(tenantId, labels);
    }
    return labels;
  }

  #add(tenantId: TenantId, spec: DeploymentSpec): void {
    for (const { name, vault_path, anchor } of spec.secrets) {
      const path = splitSecretPath(vault_path);
      if (path === undefined) continue;
      const labels = this.#labels(tenantId);
      const readings: Readings = labels.get(path.label) ?? new Map();
      labels.set(path.label, readings);
      const job = jobOfOwner(spec.name);
      const reader = job === undefined ? { deployment: spec.name } : { job };
      const consumer = { ...reader, secret: name, anchor, secretsVersion: spec.secretsVersion };
      const reading = readings.get(spec.name);
      if (reading === undefined)
        readings.set(spec.name, { namespace: path.namespace, consumers: [consumer] });
      else reading.consumers.push(consumer);
    }
  }

  #remove(tenantId: TenantId, spec: DeploymentSpec): void {
    const labels = this.#labels(tenantId);
    for (const { vault_path } of spec.secrets) {
      const label = splitSecretPath(vault_path)?.label ?? '';
      const readings = labels.get(label);
      readings?.delete(spec.name);
      if (readings?.size === 0) labels.delete(label);
    }
  }

  /** The namespace that deployments other than `except` reference the label under. */
  namespaceOf(tenantId: TenantId, label: string, except?: string): string | undefined {
    for (const [deployment, { namespace }] of this.#tenants.get(tenantId)?.get(label) ?? []) {
      if (deployment !== except) return namespace;
    }
    return undefined;
  }

  consumers(tenantId: TenantId, label: string): readonly SecretConsumer[] {
    const readings = this.#tenants.get(tenantId)?.get(label) ?? new Map<string, Reading>();
    return [...readings.values()]
      .flatMap(({ consumers }) => consumers)
      .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  }

  /** Every referenced path, by label. */
  paths(
    tenantId: TenantId,
  ): readonly { readonly label: string; readonly namespace: string; readonly consumers: number }[] {
    return [...(this.#tenants.get(tenantId) ?? [])]
      .flatMap(([label, readings]) =>
        [...readings.values()]
          .slice(0, 1)
          .map(({ namespace }) => ({ label, namespace, consumers: readings.size })),
      )
      .sort((a, b) => (a.label < b.label ? -1 : 1));
  }
}

/** Deployments by name, then jobs; a NUL ends each part, so that a name sorts before the names it begins. */
function sortKey({ deployment, job, secret }: SecretConsumer): string {
  return deployment === undefined ? `~${job}\u0000${secret}` : `${deployment}\u0000${secret}`;
}
