import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { splitSecretPath } from '../../core/model/secret-path.ts';
import type { StoreView, ViewChange } from '../store/view.ts';

export interface SecretConsumer {
  readonly deployment: string;
  readonly secret: string;
  readonly anchor: string;
  readonly secretsVersion: number;
}

interface Referenced {
  readonly namespace: string;
  /** By deployment; a deployment may read one path through several entries. */
  readonly consumers: Map<string, SecretConsumer[]>;
}

/** Which deployments of a tenant read which path: kept from the view's changes, so that no question walks all deployments. */
export class SecretReferences {
  readonly #tenants = new Map<TenantId, Map<string, Referenced>>();

  constructor(view: StoreView) {
    for (const tenantId of view.tenantIds()) {
      for (const { record } of view.tenant(tenantId, 'deployments').list()) this.#add(tenantId, record);
    }
    view.onChange((change) => this.#apply(change));
  }

  #apply({ tenantId, kind, before, after }: ViewChange): void {
    if (tenantId === undefined || kind !== 'deployments') return;
    if (before !== undefined) this.#remove(tenantId, before.record as DeploymentRecord);
    if (after !== undefined) this.#add(tenantId, after.record as DeploymentRecord);
  }

  #labels(tenantId: TenantId): Map<string, Referenced> {
    let labels = this.#tenants.get(tenantId);
    if (labels === undefined) {
      labels = new Map();
      this.#tenants.set(tenantId, labels);
    }
    return labels;
  }

  #add(tenantId: TenantId, { spec }: DeploymentRecord): void {
    for (const { name, vault_path, anchor } of spec.secrets) {
      const path = splitSecretPath(vault_path);
      if (path === undefined) continue;
      const labels = this.#labels(tenantId);
      const referenced = labels.get(path.label) ?? {
        namespace: path.namespace,
        consumers: new Map<string, SecretConsumer[]>(),
      };
      labels.set(path.label, referenced);
      const consumer = { deployment: spec.name, secret: name, anchor, secretsVersion: spec.secretsVersion };
      referenced.consumers.set(spec.name, [...(referenced.consumers.get(spec.name) ?? []), consumer]);
    }
  }

  #remove(tenantId: TenantId, { spec }: DeploymentRecord): void {
    const labels = this.#labels(tenantId);
    for (const { vault_path } of spec.secrets) {
      const label = splitSecretPath(vault_path)?.label ?? '';
      const referenced = labels.get(label);
      referenced?.consumers.delete(spec.name);
      if (referenced?.consumers.size === 0) labels.delete(label);
    }
  }

  /** The namespace that deployments other than `except` reference the label under. */
  namespaceOf(tenantId: TenantId, label: string, except?: string): string | undefined {
    const referenced = this.#tenants.get(tenantId)?.get(label);
    if (referenced === undefined) return undefined;
    const others =
      except === undefined
        ? referenced.consumers.size
        : referenced.consumers.size - (referenced.consumers.has(except) ? 1 : 0);
    return others > 0 ? referenced.namespace : undefined;
  }

  consumers(tenantId: TenantId, label: string): readonly SecretConsumer[] {
    const referenced = this.#tenants.get(tenantId)?.get(label);
    if (referenced === undefined) return [];
    return [...referenced.consumers.values()]
      .flat()
      .sort((a, b) =>
        a.deployment < b.deployment ? -1 : a.deployment > b.deployment ? 1 : a.secret < b.secret ? -1 : 1,
      );
  }

  /** Every referenced path, by label. */
  paths(
    tenantId: TenantId,
  ): readonly { readonly label: string; readonly namespace: string; readonly consumers: number }[] {
    return [...(this.#tenants.get(tenantId) ?? [])]
      .map(([label, { namespace, consumers }]) => ({ label, namespace, consumers: consumers.size }))
      .sort((a, b) => (a.label < b.label ? -1 : 1));
  }
}
