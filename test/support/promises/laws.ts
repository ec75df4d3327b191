import { labelledIngress } from '../../../src/core/model/ingress.ts';
import type { AssignedInstance } from '../../../src/core/protocol/agent-protocol.ts';
import type { Workload } from '../../../src/core/model/deployment.ts';
import type { Alteration } from '../../../src/core/model/announcement.ts';
import { alterationProblem } from '../laws.ts';
import type { Json } from '../harness/api-client.ts';
import type { Container, Machine } from './machines.ts';
import { type Credential, pathOf, type Values } from './model.ts';
import { type Answer, CONTROL_PLANE_NODE, type PlaneTenant } from './plane.ts';
import { judgeMint } from './law-mint.ts';
import { isJob, type World } from './world.ts';

const SPEC_WRITE = /^\/api\/v1\/(?:deployments|jobs)(?:\/[^/?]+)?$/;
const ROLES = { current: '', next: '_NEXT', previous: '_PREVIOUS' } as const;

interface Asked {
  readonly head: number;
  readonly stored?: Json;
}

interface Exchange {
  readonly tenant: PlaneTenant;
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly answer: Answer;
  readonly before: Asked;
}

interface Delivered {
  readonly deployment: string;
  readonly entry: string;
  readonly credential: Credential;
  readonly main: readonly number[];
  readonly next: readonly number[] | undefined;
  readonly previous: readonly number[] | undefined;
}

/** The promises, as laws on what callers were answered and on what containers hold. The first that is broken ends the sequence. */
export class Laws {
  readonly #world: World;
  readonly judged = new Map<string, number>();
  broken: string | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  expect(law: string, holds: boolean, problem: () => string): void {
    this.judged.set(law, (this.judged.get(law) ?? 0) + 1);
    if (!holds) this.broken ??= `${law}: ${problem()}`;
  }

  // ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async beforeRequest(tenant: PlaneTenant, method: string, url: string): Promise<Asked> {
    const { plane } = this.#world;
    const stored =
      method === 'PUT' && SPEC_WRITE.test(url) ? await plane.call(tenant, 'GET', url) : undefined;
    return {
      head: await plane.kv.head(),
      ...(stored?.status === 200 && { stored: stored.body }),
    };
  }

  async afterRequest({ tenant, method, url, body, answer, before }: Exchange): Promise<void> {
    const { plane } = this.#world;
    const said = () =>
      `${method} ${url} ${JSON.stringify(body)} → ${answer.status} ${JSON.stringify(answer.body)}`;
    this.expect('answers', answer.status < 500, said);
    if (answer.status >= 400) {
      const head = await plane.kv.head();
      this.expect('rejections store nothing', head === before.head, said);
      this.#judgeStop(method, body, before, said);
      return;
    }
    if (before.stored !== undefined && isStop(body)) this.expect('stopping', true, said);
    if ((method !== 'POST' && method !== 'PUT') || !SPEC_WRITE.test(url)) return;
    const name = String(answer.body['name']);
    const kind = url.startsWith('/api/v1/jobs') ? 'jobs' : 'deployments';
    const stored = await plane.call(tenant, 'GET', `/api/v1/${kind}/${name}`);
    const problem = alterationProblem(
      before.stored,
      body as Json,
      stored.body,
      answer.body['alterations'] as readonly Alteration[],
    );
    this.expect('announcements', problem === undefined, () => `${problem}: ${said()}`);
  }

  #judgeStop(method: string, body: unknown, before: Asked, said: () => string): void {
    if (method === 'PUT' && before.stored !== undefined && isStop(body)) this.expect('stopping', false, said);
  }

  // ── containers ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** What the control plane gave out, at the moment it did. */
  async resolved(machine: Machine, assigned: AssignedInstance, environment: Values): Promise<void> {
    const world = this.#world;
    const { tenant } = machine;
    const spec = world.specOf({ tenant, assigned });
    for (const entry of spec?.secrets ?? []) {
      const credential = world.model.credential(tenant, pathOf(entry));
      const before = credential.current;
      const [minted] = await world.discover(tenant, credential.path, 'mint');
      const [namespace = ''] = credential.path.split('/');
      const who = `${tenant.slug}/${assigned.deployment} (${entry.name}, ${credential.path})`;
      this.expect(
        'granted namespaces',
        world.plane.namespaces.includes(namespace),
        () => `${who} was given material`,
      );
      judgeMint(world, credential, { who, id: assigned.id, before, minted });
      const roles = (suffix: string) => credential.matching(environment, entry.name, suffix);
      const has = (suffix: string) =>
        [...credential.versions.values()]
          .flatMap(({ values }) => Object.keys(values))
          .some((key) => environment[`${entry.name}_${key}${suffix}`] !== undefined);
      this.#judgeDelivery(who, {
        deployment: assigned.deployment,
        entry: entry.name,
        credential,
        main: roles(ROLES.current),
        next: has(ROLES.next) ? roles(ROLES.next) : undefined,
        previous: has(ROLES.previous) ? roles(ROLES.previous) : undefined,
      });
      if (spec !== undefined) this.#judgeComposed(who, spec, entry.name, environment);
    }
  }

  /** What is composed goes along in every role, made of the values of that role. */
  #judgeComposed(who: string, spec: Workload, entry: string, environment: Values): void {
    for (const [variable, template] of Object.entries(spec.composedEnvironment ?? {})) {
      for (const suffix of Object.values(ROLES)) {
        const values = (key: string) => environment[`${entry}_${key}${suffix}`];
        if (!template.includes(`{{secret.${entry.toLowerCase()}.`) || values('user') === undefined) continue;
        const expected = template.replaceAll(
          /\{\{secret\.[a-z]+\.([a-z]+)\}\}/g,
          (_, key: string) => values(key) ?? '',
        );
        this.expect(
          'composed',
          environment[`${variable}${suffix}`] === expected,
          () => `${who}: ${variable}${suffix}`,
        );
      }
    }
  }

  #judgeDelivery(who: string, delivered: Delivered): void {
    const { credential, deployment, main, next, previous } = delivered;
    const { rotation, current, dead } = credential;
    const words = () =>
      `${who} got ${main.join('|') || 'a mixture'}, next ${next?.join('|') ?? '-'}, previous ${previous?.join('|') ?? '-'}; ` +
      `current is ${current}, rotation ${rotation === undefined ? 'none' : `${rotation.old}→${rotation.next} ${JSON.stringify([...rotation.parts])}`}`;
    this.expect('whole documents', main.length > 0 && next?.length !== 0 && previous?.length !== 0, words);
    const given = [...main, ...(next ?? []), ...(previous ?? [])];
    this.expect('given up', !given.every((version) => dead.has(version)) || given.length === 0, words);
    const part = rotation?.parts.get(deployment);
    if (rotation === undefined || part === undefined) {
      const inService = rotation !== undefined && [...rotation.parts.values()].includes('promote');
      const allowed = main.includes(current ?? -1) || (inService && main.includes(rotation.next));
      this.expect('outside a rotation', allowed && next === undefined && previous === undefined, words);
    } else if (part === 'stage') {
      this.expect('staged', main.includes(rotation.old) && next?.includes(rotation.next) === true, words);
    } else {
      this.expect(
        'promoted',
        main.includes(rotation.next) && previous?.includes(rotation.old) === true,
        words,
      );
    }
  }

  /** The control plane has not given it up: what it cannot know of is nobody's promise. */
  isKnown({ tenant, node, assigned }: Container): boolean {
    return this.#world.plane.placed.find(tenant.id, node, assigned.id) !== undefined;
  }

  created(container: Container): void {
    this.#judgeValid(container);
    this.#judgeWriter(container);
    const { assigned, tenant, node } = container;
    this.expect(
      'own node',
      node !== CONTROL_PLANE_NODE || tenant.slug === 'platform',
      () => `${tenant.slug}/${assigned.deployment} runs there`,
    );
    const spec = this.#world.specOf(container);
    if (spec === undefined || labelledIngress(spec) === undefined) return;
    const label = `traefik.http.routers.${spec.name}.rule`;
    this.expect(
      'router',
      assigned.container?.labels[label] !== undefined,
      () => `${tenant.slug}/${spec.name} has no ${label}`,
    );
  }

  /** Whoever writes to a volume does so on one node, also while its primary moves. */
  #judgeWriter(container: Container): void {
    const written = writtenBy(container);
    if (written.length === 0) return;
    for (const other of this.#world.machines.running())
      this.expect(
        'one writer',
        other.node === container.node || !writtenBy(other).some((id) => written.includes(id)),
        () =>
          `${container.assigned.deployment} on ${container.node} and ${other.assigned.deployment} on ${other.node} write to one volume`,
      );
  }

  #judgeValid(container: Container): void {
    if (isJob(container) || !this.isKnown(container)) return;
    const world = this.#world;
    for (const entry of world.specOf(container)?.secrets ?? []) {
      const credential = world.model.credential(container.tenant, pathOf(entry));
      const held = Object.values(ROLES).flatMap((suffix) =>
        credential.matching(container.environment, entry.name, suffix),
      );
      this.expect(
        'never zero valid',
        held.some((version) => credential.valid.has(version)),
        () =>
          `${container.tenant.slug}/${container.assigned.deployment} ${container.assigned.id} on ${container.node} holds ` +
          `${held.join('|')} of ${credential.path}, valid are ${[...credential.valid].join('|')}`,
      );
    }
  }

  /** At this moment. */
  judgeNow(): void {
    if (this.broken !== undefined) return;
    for (const container of this.#world.machines.running()) this.#judgeValid(container);
  }

  // ── material ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A request outside a rotation was accepted and the document has a new version. */
  judgeWritten(
    credential: Credential,
    anchor: string,
    before: Values,
    sent: { readonly values: readonly string[]; readonly generate: readonly string[] },
    said: string,
  ): void {
    const now = credential.values(credential.current);
    const changed = Object.keys(before).filter((key) => before[key] !== now[key]);
    if (anchor.startsWith('volume'))
      this.expect(
        'no new material against an anchor',
        changed.length === 0,
        () => `${said}: ${changed.join(', ')} changed although ${anchor}`,
      );
    else if (anchor === 'external')
      this.expect(
        'no new material against an anchor',
        changed.every((key) => sent.values.includes(key) || !(key in now)),
        () => `${said}: ${changed.join(', ')} changed although ${anchor}`,
      );
    this.expect('no write during a rotation', credential.rotation === undefined, () => said);
  }
}

function writtenBy({ assigned }: Container): readonly string[] {
  return (assigned.container?.mounts ?? [])
    .filter(({ readOnly }) => !readOnly)
    .map(({ volumeId }) => volumeId);
}

function isStop(body: unknown): boolean {
  const keys = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  return (
    keys.every((key) => key === 'replicas' || key === 'name') &&
    (body as { replicas?: unknown }).replicas === 0
  );
}
