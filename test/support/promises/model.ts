import { secretPathText, splitSecretPath } from '../../../src/core/model/secret-path.ts';
import type { SecretReference } from '../../../src/core/model/deployment.ts';
import type { PlaneTenant } from './plane.ts';

export type Values = Readonly<Record<string, string>>;
export type Origin = 'write' | 'stage' | 'mint';

/** How far one consumer has come in the rotation that is under way. */
export type Part = 'stage' | 'promote';

export interface Rotation {
  readonly old: number;
  readonly next: number;
  readonly parts: Map<string, Part>;
}

/**
 * What the callers of the API may believe of one credential, from the answers that they got and from nothing else. The values of a
 * version are read from the secrets store as they were written.
 */
export class Credential {
  readonly tenant: PlaneTenant;
  readonly path: string;
  readonly versions = new Map<number, { readonly values: Values; readonly origin: Origin }>();
  /** What a service behind it would let in. */
  valid = new Set<number>();
  /** Staged once and given up, or written by a request that was refused: never to be seen again. */
  readonly dead = new Set<number>();
  /** What Berth made; a stage without material makes these anew, and no others. */
  readonly generated = new Set<string>();
  current: number | undefined;
  /** What was in service when a container was given material last. */
  handed: number | undefined;
  rotation: Rotation | undefined;

  constructor(tenant: PlaneTenant, path: string) {
    this.tenant = tenant;
    this.path = path;
  }

  /** The newest that is neither in service nor given up; without one, what is in service. */
  waiting(): number {
    const current = this.current ?? 0;
    return Math.max(
      current,
      ...[...this.versions.keys()].filter((one) => one > current && !this.dead.has(one)),
    );
  }

  values(version: number | undefined): Values {
    return (version === undefined ? undefined : this.versions.get(version)?.values) ?? {};
  }

  written(version: number, values: Values, origin: Origin): void {
    this.versions.set(version, { values, origin });
    if (origin === 'stage') return;
    this.current = version;
    this.valid.add(version);
  }

  /** A first `stage` begins the rotation, the others join it. */
  staged(next: number, consumers: readonly string[]): void {
    if (this.rotation === undefined) {
      this.rotation = { old: this.current ?? next, next, parts: new Map() };
      this.valid.add(next);
    }
    for (const name of consumers) this.rotation.parts.set(name, 'stage');
  }

  /** The last of all readers to promote puts the new version into service for those that come later. */
  promoted(consumers: readonly string[], readers: readonly string[]): void {
    const { rotation } = this;
    if (rotation === undefined) return;
    for (const name of consumers) rotation.parts.set(name, 'promote');
    if (readers.every((name) => rotation.parts.get(name) === 'promote')) this.current = rotation.next;
  }

  /** From here on a service lets in the new version alone; a rotation that renewed nothing takes nothing away. */
  retired(consumers: readonly string[]): void {
    const { rotation } = this;
    if (rotation === undefined) return;
    for (const name of consumers) rotation.parts.delete(name);
    this.current = rotation.next;
    if (rotation.next !== rotation.old) {
      for (const version of this.versions.keys()) if (version < rotation.next) this.dead.add(version);
      this.valid = new Set([rotation.next]);
    }
    if (rotation.parts.size === 0) this.rotation = undefined;
  }

  /** What nobody takes part in any more is over, and what was staged for it is never seen again. */
  aborted(consumers: readonly string[]): void {
    const { rotation } = this;
    if (rotation === undefined) return;
    for (const name of consumers) rotation.parts.delete(name);
    this.current = rotation.old;
    if (rotation.parts.size > 0) return;
    this.rotation = undefined;
    if (rotation.next === rotation.old) return;
    this.valid.delete(rotation.next);
    this.dead.add(rotation.next);
  }

  /** Reads it no more; the rotation is the credential's, and stays. */
  left(consumer: string): void {
    this.rotation?.parts.delete(consumer);
  }

  /** Versions whose values are exactly those that a container has under this suffix. */
  matching(environment: Values, name: string, suffix: string): readonly number[] {
    return [...this.versions]
      .filter(([, { values }]) => {
        const keys = Object.keys(values);
        return keys.length > 0 && keys.every((key) => environment[`${name}_${key}${suffix}`] === values[key]);
      })
      .map(([version]) => version);
  }
}

export class Model {
  readonly #credentials = new Map<string, Credential>();

  credential(tenant: PlaneTenant, path: string): Credential {
    const key = `${tenant.slug}:${path}`;
    const known = this.#credentials.get(key) ?? new Credential(tenant, path);
    this.#credentials.set(key, known);
    return known;
  }

  of(tenant: PlaneTenant): readonly Credential[] {
    return [...this.#credentials.values()].filter((one) => one.tenant === tenant);
  }
}

export function pathOf({ vault_path }: Pick<SecretReference, 'vault_path'>): string {
  const path = splitSecretPath(vault_path);
  return path === undefined ? vault_path : secretPathText(path);
}
