import type { SecretDeliveries } from '../../core/model/credential.ts';
import type { Workload } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { jobWorkload } from '../../core/model/job.ts';
import { type DeploymentName, isOfDeployment, type OwnerName, ownerOf } from '../../core/model/owner.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import type { StoreView, ViewChange } from '../store/view.ts';

export interface SecretConsumer {
  readonly owner: OwnerName;
  readonly secret: string;
  readonly anchor: string;
  readonly secretsVersion: number;
}

/** One workload's reading of a label; it may read one path through several entries. */
interface Reading {
  readonly owner: OwnerName;
  readonly namespace: string;
  readonly consumers: SecretConsumer[];
}

/** What may hold a spec; a canary reads beside its deployment, under its name. */
type Kind = 'deployments' | 'canaries' | 'jobs';
const CANARY = ' canary';

function readerOf(kind: Kind, spec: Workload): string {
  return kind === 'canaries' ? `${spec.name}${CANARY}` : spec.name;
}

function sortKey({ owner, secret }: SecretConsumer): string {
  const { kind, name } = ownerOf(owner);
  return JSON.stringify([name, secret, kind === 'deployment']);
}

/**
 * By reader. Each reading has its own namespace, because changes may arrive in an order in which the old and the
 * new user of a label overlap (a list after a lost watch reports additions first).
 */
type Readings = Map<string, Reading>;

/** Which deployments of a tenant read which path, and which instances were given it: kept from the view's changes, so that no question walks all deployments. */
export class SecretReferences {
  readonly #tenants = new Map<TenantId, Map<string, Readings>>();
  readonly #given = new Map<TenantId, Map<string, Set<string>>>();

  constructor(view: StoreView) {
    for (const tenantId of view.tenantIds()) {
      for (const kind of ['deployments', 'canaries'] as const)
        for (const { record } of view.tenant(tenantId, kind).list()) this.#add(tenantId, kind, record.spec);
      for (const { record } of view.tenant(tenantId, 'jobs').list())
        this.#add(tenantId, 'jobs', jobWorkload(record.spec));
      for (const { id, record } of view.tenant(tenantId, 'secret-deliveries').list())
        this.#give(tenantId, id, record);
    }
    view.onChange((change) => this.#apply(change));
  }

  #apply({ tenantId, kind, id, before, after }: ViewChange): void {
    switch (kind) {
      case 'secret-deliveries':
        this.#take(tenantId, id, before?.record);
        this.#give(tenantId, id, after?.record);
        break;
      case 'deployments':
      case 'canaries':
        this.#replace(tenantId, kind, before?.record.spec, after?.record.spec);
        break;
      case 'jobs':
        this.#replace(
          tenantId,
          kind,
          before && jobWorkload(before.record.spec),
          after && jobWorkload(after.record.spec),
        );
        break;
      default:
    }
  }

  #replace(tenantId: TenantId, kind: Kind, before: Workload | undefined, after: Workload | undefined): void {
    if (before !== undefined) this.#remove(tenantId, kind, before);
    if (after !== undefined) this.#add(tenantId, kind, after);
  }

  #give(tenantId: TenantId, id: string, record: SecretDeliveries | undefined): void {
    if (record === undefined) return;
    const given = this.#given.get(tenantId) ?? new Map<string, Set<string>>();
    this.#given.set(tenantId, given);
    for (const path of Object.keys(record.versions)) {
      const ids = given.get(path);
      if (ids === undefined) given.set(path, new Set([id]));
      else ids.add(id);
    }
  }

  #take(tenantId: TenantId, id: string, record: SecretDeliveries | undefined): void {
    const given = this.#given.get(tenantId);
    if (given === undefined || record === undefined) return;
    for (const path of Object.keys(record.versions)) {
      const ids = given.get(path);
      ids?.delete(id);
      if (ids?.size === 0) given.delete(path);
    }
    if (given.size === 0) this.#given.delete(tenantId);
  }

  #labels(tenantId: TenantId): Map<string, Readings> {
    let labels = this.#tenants.get(tenantId);
    if (labels === undefined) {
      labels = new Map();
      this.#tenants.set(tenantId, labels);
    }
    return labels;
  }

  #add(tenantId: TenantId, kind: Kind, spec: Workload): void {
    const reader = readerOf(kind, spec);
    const owner = spec.name;
    for (const { name, vault_path, anchor } of spec.secrets) {
      const path = splitSecretPath(vault_path);
      if (path === undefined) continue;
      const labels = this.#labels(tenantId);
      const readings: Readings = labels.get(path.label) ?? new Map();
      labels.set(path.label, readings);
      const consumer = { owner, secret: name, anchor, secretsVersion: spec.secretsVersion };
      const reading = readings.get(reader);
      if (reading === undefined)
        readings.set(reader, { owner, namespace: path.namespace, consumers: [consumer] });
      else reading.consumers.push(consumer);
    }
  }

  #remove(tenantId: TenantId, kind: Kind, spec: Workload): void {
    const reader = readerOf(kind, spec);
    const labels = this.#labels(tenantId);
    for (const { vault_path } of spec.secrets) {
      const label = splitSecretPath(vault_path)?.label ?? '';
      const readings = labels.get(label);
      readings?.delete(reader);
      if (readings?.size === 0) labels.delete(label);
    }
  }

  #readings(tenantId: TenantId, label: string): readonly Reading[] {
    return [...(this.#tenants.get(tenantId)?.get(label)?.values() ?? [])];
  }

  /** The namespace that deployments other than `except` reference the label under. */
  namespaceOf(tenantId: TenantId, label: string, except?: OwnerName): string | undefined {
    for (const { owner, namespace } of this.#readings(tenantId, label)) {
      if (owner !== except) return namespace;
    }
    return undefined;
  }

  /** How everybody who reads the path holds on to it, but for what is stored under the name `except`. */
  anchors(tenantId: TenantId, { label, namespace }: SecretPath, except?: OwnerName): readonly string[] {
    return this.#readings(tenantId, label).flatMap((reading) =>
      reading.owner === except || reading.namespace !== namespace
        ? []
        : reading.consumers.map(({ anchor }) => anchor),
    );
  }

  /** Names of the deployments that read the path. */
  deployments(tenantId: TenantId, { label, namespace }: SecretPath): readonly DeploymentName[] {
    const found = new Set<DeploymentName>();
    for (const { owner, namespace: used } of this.#readings(tenantId, label))
      if (used === namespace && isOfDeployment(owner)) found.add(owner);
    return [...found];
  }

  consumers(tenantId: TenantId, label: string): readonly SecretConsumer[] {
    const listed = new Map<string, SecretConsumer>();
    for (const { consumers } of this.#readings(tenantId, label)) {
      // A canary mostly reads what its deployment reads.
      for (const one of consumers) {
        const key = sortKey(one);
        if (!listed.has(key)) listed.set(key, one);
      }
    }
    return [...listed.values()].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  }

  /** The instances that were given something of the document, whether or not their workload still reads it. */
  given(tenantId: TenantId, path: SecretPath): ReadonlySet<string> {
    return this.#given.get(tenantId)?.get(secretPathText(path)) ?? new Set();
  }

  /** Every referenced path, by label. */
  paths(
    tenantId: TenantId,
  ): readonly { readonly label: string; readonly namespace: string; readonly consumers: number }[] {
    return [...(this.#tenants.get(tenantId) ?? [])]
      .flatMap(([label, readings]) =>
        [...readings.values()].slice(0, 1).map(({ namespace }) => ({
          label,
          namespace,
          consumers: new Set([...readings.values()].map(({ owner }) => owner)).size,
        })),
      )
      .sort((a, b) => (a.label < b.label ? -1 : 1));
  }
}
