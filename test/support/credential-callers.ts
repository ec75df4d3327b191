import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Caller } from './harness/control-plane.ts';
import type { Dice } from './openapi-fuzz.ts';

const DOCUMENT = '/api/v1/secrets/resources/db';
const PHASES = ['stage', 'promote', 'retire'] as const;
type Phase = (typeof PHASES)[number] | 'abort';
const STEP_MS = 240_000;

/** What became of a value that was sent: whoever is given one that was not accepted was given what nobody put in service. */
type Fate = 'asked' | 'accepted' | 'refused' | 'unavailable';

interface Delivery {
  readonly deployment: string;
  readonly variable: string;
  readonly value: string;
  readonly at: string;
}

/** Callers that rotate and write one credential which several deployments share, and what they were told. */
export class CredentialCallers {
  readonly call: Caller;
  readonly #random: Dice;
  readonly #names: readonly string[];
  readonly #fates = new Map<string, Fate>();
  readonly #deliveries: Delivery[] = [];
  readonly #newest = new Map<string, string>();
  /** How often each answer was given. */
  readonly #answers = new Map<string, number>();
  rotations = 0;

  constructor(call: Caller, random: Dice, names: readonly string[]) {
    this.call = call;
    this.#random = random;
    this.#names = names;
  }

  /** The document, and the deployments that read it. */
  async begin(): Promise<void> {
    await this.write();
    for (const name of this.#names) {
      const secrets = [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }];
      const body = { kind: 'Deployment', name, image: 'localhost:1/shop/web:1.0.0', replicas: 1, secrets };
      const answer = await this.call('POST', '/api/v1/deployments', body);
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    }
  }

  delivered(deployment: string, environment: Readonly<Record<string, string>>): void {
    const at = new Date().toISOString();
    for (const [variable, value] of Object.entries(environment))
      if (variable.startsWith('DB_password')) this.#deliveries.push({ deployment, variable, value, at });
    const current = environment['DB_password'];
    if (current !== undefined) this.#newest.set(deployment, current);
  }

  /** What each deployment's container was given last. */
  newest(): readonly string[] {
    return [...this.#newest.values()];
  }

  violations(): readonly string[] {
    const told = (value: string): string => this.#fates.get(value) ?? 'sent by nobody';
    return this.#deliveries
      .filter(({ value }) => told(value) !== 'accepted')
      .map((one) => `${one.at} ${one.deployment} ${one.variable}=${one.value}: ${told(one.value)}`);
  }

  figures() {
    const fates = [...this.#fates.values()];
    const count = (fate: Fate): number => fates.filter((one) => one === fate).length;
    return {
      accepted: count('accepted'),
      refused: count('refused') + count('unavailable'),
      /** The store did not say whether it took the value. */
      uncertain: count('unavailable'),
      deliveries: this.#deliveries.length,
    };
  }

  async #send(method: string, path: string, body: Readonly<Record<string, unknown>>): Promise<Answer> {
    const value = `v-${randomUUID()}`;
    this.#fates.set(value, 'asked');
    const answer = await this.call(method, path, { ...body, values: { password: value } });
    const refused = answer.status === 503 ? 'unavailable' : 'refused';
    this.#fates.set(value, answer.status < 300 ? 'accepted' : refused);
    return answer.status < 300 ? { ...answer, body: { ...answer.body, sent: value } } : answer;
  }

  /** A plain write that is accepted. */
  async write(): Promise<string> {
    for (const endMs = performance.now() + STEP_MS; ; await pause(50)) {
      const answer = await this.#send('PUT', DOCUMENT, {});
      if (answer.status < 300) return answer.body.sent as string;
      if (performance.now() > endMs) throw new Error(`not written: ${JSON.stringify(answer.body)}`);
    }
  }

  async #phaseAfter(name: string): Promise<(typeof PHASES)[number]> {
    const { body } = await this.call('GET', `/api/v1/deployments/${name}`);
    return body.status.rotation.next as (typeof PHASES)[number];
  }

  async #rotate(name: string, phase: Phase): Promise<Answer> {
    // Now and then all consumers at once.
    const path =
      this.#random.next() < 0.3 ? `${DOCUMENT}/rotate` : `/api/v1/deployments/${name}/secrets/rotate`;
    const withMaterial = phase === 'stage' && this.#random.next() < 0.8;
    let answer = withMaterial
      ? await this.#send('POST', path, { phase })
      : await this.call('POST', path, { phase });
    // The other caller has begun: this one joins what is staged.
    if (answer.body.code === 'secret_rotation_in_progress') answer = await this.call('POST', path, { phase });
    if (answer.status === 200 && phase === 'retire') this.rotations += 1;
    return answer;
  }

  /** One caller: writes now and then, mostly takes its deployment through the phases, gives one up here and there. */
  async rotateUntil(name: string, isEnough: () => boolean): Promise<void> {
    let failing: { readonly sinceMs: number; readonly answer: Answer } | undefined;
    while (!isEnough()) {
      const next = await this.#phaseAfter(name);
      const chance = this.#random.next();
      const answer =
        chance < 0.1
          ? await this.#send('PUT', DOCUMENT, {})
          : await this.#rotate(name, chance < 0.15 && next !== 'stage' ? 'abort' : next);
      const told = `${answer.status} ${answer.body.code ?? next}`;
      this.#answers.set(told, (this.#answers.get(told) ?? 0) + 1);
      if (answer.status < 300) failing = undefined;
      else failing ??= { sinceMs: performance.now(), answer };
      if (failing !== undefined && performance.now() - failing.sinceMs > STEP_MS)
        throw new Error(
          `${name} gets no further since ${STEP_MS} ms: ${JSON.stringify([answer.body, [...this.#answers]])}`,
        );
      if (answer.status >= 300) await pause(30);
    }
  }

  /** No rotation is left: everybody is taken to its end. */
  async settle(): Promise<void> {
    for (const endMs = performance.now() + STEP_MS; ; await pause(50)) {
      const phases = await Promise.all(this.#names.map((name) => this.#phaseAfter(name)));
      if (phases.every((phase) => phase === 'stage')) return;
      const told: unknown[] = [];
      for (const [index, name] of this.#names.entries()) {
        // One that takes no part has to join before the others can give the old version up.
        const phase = phases[index] ?? 'stage';
        const { body } = await this.call('POST', `/api/v1/deployments/${name}/secrets/rotate`, { phase });
        told.push(body.why ?? body.code ?? phase);
      }
      if (performance.now() > endMs) throw new Error(`not settled: ${JSON.stringify([phases, told])}`);
    }
  }
}
