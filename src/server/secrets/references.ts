import type { Workload } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { servedIngress } from '../../core/model/ingress.ts';
import { jobWorkload } from '../../core/model/job.ts';
import { type DeploymentName, isOfDeployment, type OwnerName, ownerOf } from '../../core/model/owner.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import type { Stored } from '../store/collection.ts';
import { UnreadDeployment } from '../store/unread-deployment.ts';
import type { StoreView, ViewChange } from '../store/view.ts';

export interface SecretConsumer {
  readonly owner: OwnerName;
  /** Present: its certificate for this host; no container is given it. */
  readonly ingress?: string;
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
const INGRESS = ' ingress';
/** How a certificate is listed among variables; it may be written again at any time. */
const CERTIFICATE = { secret: 'tls', anchor: 'process' };

function readerOf(kind: Kind, spec: Workload): string {
  return kind === 'canaries' ? `${spec.name}${CANARY}` : spec.name;
}

function sortKey({ owner, secret, ingress = '' }: SecretConsumer): string {
  const { kind, name } = ownerOf(owner);
  return JSON.stringify([name, secret, kind === 'deployment', ingress]);
}

interface Read {
  readonly reader: string;
  readonly path: SecretPath;
  readonly consumer: SecretConsumer;
}

/** A canary has the ways in of its deployment, so they are read once. */
function readsOf(kind: Kind, spec: Workload): readonly Read[] {
  const { name: owner, secretsVersion } = spec;
  const reader = readerOf(kind, spec);
  const given = spec.secrets.flatMap(({ name, vault_path, anchor }): readonly Read[] => {
    const path = splitSecretPath(vault_path);
    return path === undefined
      ? []
      : [{ reader, path, consumer: { owner, secret: name, anchor, secretsVersion } }];
  });
  const certificates = (kind === 'deployments' ? servedIngress(spec) : []).flatMap(
    ({ host = '', tls }): readonly Read[] => {
      const path = typeof tls === 'object' ? splitSecretPath(tls.vault_path) : undefined;
      if (path === undefined) return [];
      const consumer = { owner, ingress: host, ...CERTIFICATE, secretsVersion };
      return [{ reader: `${owner}${INGRESS}/${path.namespace}`, path, consumer }];
    },
  );
  return [...given, ...certificates];
}

/** Undefined: there is none, or it is known to read nothing. */
function readingSpec(stored: Stored<{ readonly spec: Workload }> | undefined): Workload | undefined {
  return stored instanceof UnreadDeployment ? undefined : stored?.record.spec;
}

/**
 * By reader. Each reading has its own namespace, because changes may arrive in an order in which the old and the
 * new user of a label overlap (a list after a lost watch reports additions first).
 */
type Readings = Map<string, Reading>;

/** By tenant and path: the ids of records that name the path. */
class IdsByPath {
  readonly #tenants = new Map<TenantId, Map<string, Set<string>>>();

  add(tenantId: TenantId, id: string, paths: readonly string[]): void {
    for (const path of paths) {
      const byPath = this.#tenants.get(tenantId) ?? new Map<string, Set<string>>();
      this.#tenants.set(tenantId, byPath);
      const ids = byPath.get(path);
      if (ids === undefined) byPath.set(path, new Set([id]));
      else ids.add(id);
    }
  }

  remove(tenantId: TenantId, id: string, paths: readonly string[]): void {
    const byPath = this.#tenants.get(tenantId);
    if (byPath === undefined) return;
    for (const path of paths) {
      const ids = byPath.get(path);
      ids?.delete(id);
      if (ids?.size === 0) byPath.delete(path);
    }
    if (byPath.size === 0) this.#tenants.delete(tenantId);
  }

  ids(tenantId: TenantId, path: SecretPath): ReadonlySet<string> {
    return this.#tenants.get(tenantId)?.get(secretPathText(path)) ?? new Set();
  }

  paths(tenantId: TenantId): readonly SecretPath[] {
    return [...(this.#tenants.get(tenantId)?.keys() ?? [])].flatMap((text) => splitSecretPath(text) ?? []);
  }
}

/**
 * Which deployments of a tenant read which path, which instances were given it and which webhooks sign with it: kept from the view's changes, so that no
 * question walks all deployments.
 */
export class SecretReferences {
  readonly #tenants = new Map<TenantId, Map<string, Readings>>();
  readonly #given = new IdsByPath();
  readonly #signing = new IdsByPath();

  constructor(view: StoreView) {
    for (const kind of ['deployments', 'canaries'] as const)
      for (const tenantId of view.tenantIdsWith(kind))
        for (const { record } of view.tenant(tenantId, kind).list()) this.#add(tenantId, kind, record.spec);
    for (const tenantId of view.tenantIdsWith('jobs'))
      for (const { record } of view.tenant(tenantId, 'jobs').list())
        this.#add(tenantId, 'jobs', jobWorkload(record.spec));
    for (const tenantId of view.tenantIdsWith('secret-deliveries'))
      for (const { id, record } of view.tenant(tenantId, 'secret-deliveries').list())
        this.#given.add(tenantId, id, Object.keys(record.versions));
    for (const tenantId of view.tenantIdsWith('webhooks'))
      for (const { record } of view.tenant(tenantId, 'webhooks').list())
        this.#signing.add(tenantId, record.name, [record.signing.vault_path]);
    view.onChange((change) => this.#apply(change));
  }

  #apply({ tenantId, kind, id, before, after }: ViewChange): void {
    switch (kind) {
      case 'secret-deliveries':
        this.#given.remove(tenantId, id, Object.keys(before?.record.versions ?? {}));
        this.#given.add(tenantId, id, Object.keys(after?.record.versions ?? {}));
        break;
      case 'webhooks':
        if (before) this.#signing.remove(tenantId, before.record.name, [before.record.signing.vault_path]);
        if (after) this.#signing.add(tenantId, after.record.name, [after.record.signing.vault_path]);
        break;
      case 'deployments':
      case 'canaries':
        this.#replace(tenantId, kind, readingSpec(before), readingSpec(after));
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

  #labels(tenantId: TenantId): Map<string, Readings> {
    let labels = this.#tenants.get(tenantId);
    if (labels === undefined) {
      labels = new Map();
      this.#tenants.set(tenantId, labels);
    }
    return labels;
  }

  #add(tenantId: TenantId, kind: Kind, spec: Workload): void {
    for (const { reader, path, consumer } of readsOf(kind, spec)) {
      const labels = this.#labels(tenantId);
      const readings: Readings = labels.get(path.label) ?? new Map();
      labels.set(path.label, readings);
      const reading = readings.get(reader);
      if (reading === undefined)
        readings.set(reader, { owner: consumer.owner, namespace: path.namespace, consumers: [consumer] });
      else reading.consumers.push(consumer);
    }
  }

  #remove(tenantId: TenantId, kind: Kind, spec: Workload): void {
    const labels = this.#labels(tenantId);
    for (const { reader, path } of readsOf(kind, spec)) {
      const readings = labels.get(path.label);
      readings?.delete(reader);
      if (readings?.size === 0) labels.delete(path.label);
    }
  }

  #readings(tenantId: TenantId, label: string): readonly Reading[] {
    return [...(this.#tenants.get(tenantId)?.get(label)?.values() ?? [])];
  }

  /** The namespace that deployments other than `except` reference the label under. */
  namespaceOf(tenantId: TenantId, label: string, except?: OwnerName): string | undefined {
    for (const { owner, namespace, consumers } of this.#readings(tenantId, label)) {
      if (owner !== except && !isOfIngress({ consumers })) return namespace;
    }
    return undefined;
  }

  /** How everybody who reads the path holds on to it, but for what is stored under the name `except`. */
  anchors(tenantId: TenantId, { label, namespace }: SecretPath, except?: OwnerName): readonly string[] {
    return this.#readings(tenantId, label).flatMap((reading) =>
      reading.owner === except || reading.namespace !== namespace
        ? []
        : reading.consumers.filter(isGiven).map(({ anchor }) => anchor),
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
    return distinct(this.#readings(tenantId, label));
  }

  /** Who refers to this very document. */
  consumersOf(tenantId: TenantId, { namespace, label }: SecretPath): readonly SecretConsumer[] {
    return distinct(this.#readings(tenantId, label).filter((reading) => reading.namespace === namespace));
  }

  /** How many workloads and webhooks do. */
  referrers(tenantId: TenantId, path: SecretPath): number {
    const owners = this.#readings(tenantId, path.label).flatMap(({ namespace, owner }) =>
      namespace === path.namespace ? [owner] : [],
    );
    return new Set(owners).size + this.#signing.ids(tenantId, path).size;
  }

  /** Every document that something refers to, there or not; one that signs and is read, twice. */
  referenced(tenantId: TenantId): readonly SecretPath[] {
    const read = [...(this.#tenants.get(tenantId) ?? [])].flatMap(([label, readings]) =>
      [...new Set([...readings.values()].map(({ namespace }) => namespace))].map((namespace) => ({
        namespace,
        label,
      })),
    );
    return [...read, ...this.#signing.paths(tenantId)];
  }

  /** Names of the webhooks whose requests are signed with a key of the document. As a certificate they bind neither its namespace nor its rotation. */
  webhooks(tenantId: TenantId, path: SecretPath): readonly string[] {
    return [...this.#signing.ids(tenantId, path)].sort();
  }

  /** The instances that were given something of the document, whether or not their workload still reads it. */
  given(tenantId: TenantId, path: SecretPath): ReadonlySet<string> {
    return this.#given.ids(tenantId, path);
  }
}

function distinct(readings: readonly Reading[]): readonly SecretConsumer[] {
  const listed = new Map<string, SecretConsumer>();
  for (const { consumers } of readings) {
    // A canary mostly reads what its deployment reads.
    for (const one of consumers) {
      const key = sortKey(one);
      if (!listed.has(key)) listed.set(key, one);
    }
  }
  return [...listed.values()].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

/** To containers. */
export function isGiven({ ingress }: SecretConsumer): boolean {
  return ingress === undefined;
}

function isOfIngress({ consumers }: Pick<Reading, 'consumers'>): boolean {
  return !consumers.some(isGiven);
}
