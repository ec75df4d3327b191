import type { DeploymentRecord, Workload } from '../../../src/core/model/deployment.ts';
import { isOfDeployment } from '../../../src/core/model/owner.ts';
import { splitSecretPath, type SecretPath } from '../../../src/core/model/secret-path.ts';
import type { VolumeRecord } from '../../../src/core/model/volume.ts';
import { idOf } from '../../../src/server/store/record-ids.ts';
import { Dice } from '../openapi-fuzz.ts';
import { judgeCopies } from './law-copies.ts';
import { Laws } from './laws.ts';
import { type Container, type Machine, Machines } from './machines.ts';
import { type Credential, Model, type Origin, pathOf } from './model.ts';
import { type Answer, type Parts, Plane, type PlaneTenant, SOUND } from './plane.ts';

const BEAT_MS = 5000;
/** Turns of the event loop after which everything is decided, with room to spare. */
const MAX_ROUNDS = 1000;

/** Everything of one sequence: a control plane, machines of two tenants, what callers may believe, and the laws. */
export class World {
  readonly plane: Plane;
  readonly machines: Machines;
  readonly model = new Model();
  readonly laws: Laws;
  /** Of the step that is under way. */
  dice = new Dice(0);
  readonly told: string[] = [];
  deliveries = 0;
  /** Volumes that were asked to have other copies, and nodes that are not as they were. */
  readonly alteredVolumes = new Set<string>();
  readonly troubledNodes = new Set<string>();
  readonly backups: { readonly tenant: PlaneTenant; readonly id: string }[] = [];
  /** Changes of the store, and how many of them the agents have looked at. */
  #stored = 0;
  #seen = 0;

  private constructor(plane: Plane) {
    this.plane = plane;
    this.laws = new Laws(this);
    plane.store.view.onChange((change) => {
      this.#stored += 1;
      judgeCopies(this, change);
    });
    this.machines = new Machines(plane, {
      resolved: (machine, assigned, environment) => this.laws.resolved(machine, assigned, environment),
      created: (container) => {
        this.deliveries += 1;
        this.laws.created(container);
      },
      ended: () => undefined,
    });
  }

  static async create(parts: Parts = SOUND): Promise<World> {
    return new World(await Plane.start(parts));
  }

  get tenants(): { readonly platform: PlaneTenant; readonly shop: PlaneTenant; readonly bank: PlaneTenant } {
    const [platform, shop, bank] = this.plane.tenants as [PlaneTenant, PlaneTenant, PlaneTenant];
    return { platform, shop, bank };
  }

  note(line: string): void {
    this.told.push(line);
  }

  deployments(tenant: PlaneTenant): readonly DeploymentRecord[] {
    return this.plane.store
      .forTenant(tenant.id)
      .list('deployments')
      .map(({ record }) => record);
  }

  deployment(tenant: PlaneTenant, name: string): DeploymentRecord | undefined {
    return this.plane.store.forTenant(tenant.id).get('deployments', idOf('deployments', name))?.record;
  }

  volumes(tenant: PlaneTenant): readonly VolumeRecord[] {
    return this.plane.store
      .forTenant(tenant.id)
      .list('volumes')
      .map(({ record }) => record);
  }

  /** The spec that a container was made from. */
  specOf({ tenant, assigned }: Pick<Container, 'tenant' | 'assigned'>): Workload | undefined {
    const { deployment, specHash } = assigned;
    return this.plane.store.forTenant(tenant.id).get('specs', idOf('specs', deployment, specHash))?.record;
  }

  /** Every spec that reads secrets now: of deployments, of their canaries and of jobs. */
  consumers(tenant: PlaneTenant): readonly { readonly name: string; readonly spec: Workload }[] {
    const store = this.plane.store.forTenant(tenant.id);
    return [
      ...this.deployments(tenant).map(({ spec }) => ({ name: spec.name, spec })),
      ...store.list('canaries').map(({ record }) => ({ name: record.spec.name, spec: record.spec })),
    ];
  }

  consumersOf({ tenant, path }: Credential): readonly string[] {
    const names = this.consumers(tenant)
      .filter(({ spec }) => spec.secrets.some((entry) => pathOf(entry) === path))
      .map(({ name }) => name);
    return [...new Set(names)];
  }

  /** One request, its answer held to the laws that concern every answer. */
  async request(tenant: PlaneTenant, method: string, url: string, body?: unknown): Promise<Answer> {
    const before = await this.laws.beforeRequest(tenant, method, url);
    const answer = await this.plane.call(tenant, method, url, body);
    await this.laws.afterRequest({ tenant, method, url, body, answer, before });
    const code = answer.status >= 400 ? ` ${String(answer.body['code'])}` : '';
    this.note(`${tenant.slug} ${method} ${url} ${JSON.stringify(body ?? '')} → ${answer.status}${code}`);
    return answer;
  }

  /** Versions that have appeared in the secrets store, made known to the model. */
  async discover(tenant: PlaneTenant, path: string, origin: Origin): Promise<readonly number[]> {
    const credential = this.model.credential(tenant, path);
    const split = splitSecretPath(path) as SecretPath;
    const metadata = await this.plane.witness.metadata(tenant.id, split);
    if (!metadata.ok || !metadata.exists) return [];
    const found: number[] = [];
    for (const { version } of metadata.versions) {
      if (credential.versions.has(version)) continue;
      const document = await this.plane.witness.read(tenant.id, split, version);
      if (!document.ok) continue;
      const values = [...document.values].map(([key, value]) => [key, value.reveal()] as const);
      credential.written(version, Object.fromEntries(values), origin);
      found.push(version);
    }
    return found;
  }

  /** Until nothing moves any more at this moment. */
  async settle(): Promise<void> {
    await this.#act();
    await this.#quieten();
  }

  /** Agents look again at what was stored since they last looked. */
  async #quieten(): Promise<void> {
    for (let quiet = 0, rounds = 0; quiet < 2; rounds += 1) {
      this.laws.expect(
        'rest',
        rounds < MAX_ROUNDS,
        () => 'the control plane never stops changing its records',
      );
      if (this.laws.broken !== undefined) return;
      const before = this.#stored;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#stored !== this.#seen) await this.#act();
      quiet = this.#stored === before ? quiet + 1 : 0;
    }
  }

  async #act(): Promise<void> {
    do this.#seen = this.#stored;
    while (await this.machines.act());
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= BEAT_MS) {
      await this.plane.time.advance(Math.min(left, BEAT_MS), () => this.#quieten());
      for (const machine of this.machines.all()) this.machines.beat(machine);
      await this.settle();
    }
  }

  anyMachine(tenant: PlaneTenant): Machine | undefined {
    const machines = this.machines.all().filter((machine) => machine.tenant === tenant);
    return machines.length === 0 ? undefined : this.dice.pick(machines);
  }

  async close(): Promise<void> {
    await this.plane.close();
  }
}

export function isJob({ assigned }: Pick<Container, 'assigned'>): boolean {
  return !isOfDeployment(assigned.deployment);
}
