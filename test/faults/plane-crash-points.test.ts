import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommitKill, countFileOf } from '../support/commit-killer.ts';
import type { Answer } from '../support/harness/control-plane.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';

/**
 * F-03 with a real process: the control plane dies by kill -9 just before or just after a durable commit of its store, on a way from
 * the enrolment of a node over create, update, a whole rotation and delete to its release. Clients repeat what was not answered. The
 * long tier has a way for each commit and side, the usual one a single way with kills spread evenly over it.
 */
const KILLER = new URL('../support/commit-killer.ts', import.meta.url).href;
const KILLS_OF_USUAL_WAY = 7;
const TIMEOUT_MS = inTier({ usual: 300_000, long: 3 * 3_600_000 });
const STEP_MS = 60_000;
const SIDES = ['before', 'after'] as const;

let pushed: PushedImageRegistry;
let plane: PlaneProcess;
const folder = mkdtempSync(join(tmpdir(), 'berth-kills-'));
const killFile = join(folder, 'commits.json');
let tenantToken: string;
let killed = 0;

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = new PlaneProcess({
    NODE_OPTIONS: `--import=${KILLER}`,
    KILL_AT_COMMITS: killFile,
    BERTH_REGISTRIES_ALLOW_PRIVATE: pushed.config['registries.allowPrivate'].join(','),
    BERTH_TIMERS_SETTLE: '200ms',
    BERTH_RATE_LIMIT_PER_SECOND: '100000',
    BERTH_RATE_LIMIT_BURST: '100000',
  });
  await plane.start();
  tenantToken = (await plane.tenant('shop')).token;
});

afterAll(async () => {
  await plane?.dispose();
  await pushed?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What clients were told, and so what has to be there after any death. */
interface Acknowledged {
  /** Of the environment; undefined: the deployment is not there. */
  round?: string;
  secretsVersion: number;
  /** What is being asked for may be there or not. */
  asking: boolean;
}

/** One user and one node, from nothing to nothing. */
class Way {
  readonly #node: string;
  readonly #name: string;
  readonly #key = agentKey();
  readonly #told: Acknowledged = { secretsVersion: 0, asking: false };
  readonly lost: string[] = [];

  constructor(index: number) {
    this.#node = `n${index}`;
    this.#name = `web-${index}`;
  }

  /** Until it is answered by a control plane that lives. */
  async #call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    token = tenantToken,
  ): Promise<Answer> {
    for (const endMs = performance.now() + STEP_MS; ; ) {
      try {
        const answer = await plane.as(token)(method, path, body, headers);
        if (answer.status < 500) return answer;
      } catch (error) {
        if (performance.now() > endMs) throw error;
      }
      if (performance.now() > endMs)
        throw new Error(`${method} ${path} is not answered\n${plane.log().slice(-2000)}`);
      if (plane.running) await pause(10);
      else await this.#restart();
    }
  }

  async #restart(): Promise<void> {
    killed += 1;
    // The next kill may fall into the start itself.
    await plane.start().catch((error: unknown) => {
      if (plane.running) throw error;
    });
    if (!plane.running) return;
    const { round, secretsVersion, asking } = this.#told;
    const answer = await plane
      .as(tenantToken)('GET', `/api/v1/deployments/${this.#name}`)
      .catch(() => undefined);
    // It may have been killed again meanwhile; the next start looks.
    if (answer === undefined || answer.status >= 500) return;
    const problems = [
      ...(round !== undefined && answer.status === 404 && !asking ? ['the deployment'] : []),
      ...(round === undefined && answer.status === 200 && !asking ? ['its deletion'] : []),
      ...(answer.status === 200 && round !== undefined && !asking && answer.body.environment?.ROUND !== round
        ? [`round ${round}`]
        : []),
      ...(answer.status === 200 && round !== undefined && answer.body.secretsVersion < secretsVersion
        ? [`secrets version ${secretsVersion}`]
        : []),
    ];
    this.lost.push(...problems);
  }

  /** A write, once, however often it has to be sent. */
  async #write(
    method: string,
    path: string,
    body: unknown,
    fits: (answer: Answer) => boolean,
  ): Promise<Answer> {
    this.#told.asking = true;
    const key = { 'idempotency-key': randomUUID() };
    const answer = await this.#call(method, path, body, method === 'POST' ? key : {});
    this.#told.asking = false;
    if (!fits(answer)) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  async #until(what: string, path: string, fits: (answer: Answer) => boolean): Promise<void> {
    for (const endMs = performance.now() + STEP_MS; ; await pause(15)) {
      const answer = await this.#call('GET', path);
      if (fits(answer)) return;
      if (performance.now() > endMs) throw new Error(`${what}: ${JSON.stringify(answer.body)}`);
    }
  }

  /** Both instances, of the spec that is stored now, and no other. */
  async #running(): Promise<void> {
    const path = `/api/v1/deployments/${this.#name}`;
    for (const endMs = performance.now() + STEP_MS; ; await pause(15)) {
      const { body: record } = await this.#call('GET', path);
      const { body: instances } = await this.#call('GET', `${path}/instances`);
      const current = (instances as { state: string; specHash: string }[]).filter(
        ({ state, specHash }) => state === 'running' && specHash === record.specHash,
      );
      if (record.status?.phase === 'Running' && current.length === 2 && instances.length === 2) return;
      if (performance.now() > endMs)
        throw new Error(`it does not run: ${JSON.stringify([record, instances])}`);
    }
  }

  /** A join token that was spent without an answer is replaced by another one, as an operator would. */
  async #enrol(): Promise<string> {
    for (;;) {
      const join = await this.#call('POST', '/api/v1/join-tokens', {});
      const facts = nodeFacts(this.#node, this.#key);
      const answer = await this.#call('POST', '/api/v1/nodes', facts, {}, join.body.token as string);
      if (answer.status < 300) return answer.body.nodeToken as string;
    }
  }

  async go(): Promise<void> {
    const path = `/api/v1/deployments/${this.#name}`;
    const token = await this.#enrol();
    const agent = new LiveAgent({ node: this.#node, key: this.#key, token }, [plane.url]);
    try {
      await this.#until(
        'the node is ready',
        `/api/v1/nodes/${this.#node}`,
        ({ body }) => body.status === 'ready',
      );
      const secrets = [
        {
          name: 'DB',
          vault_path: `resources/${this.#name}`,
          anchor: 'process',
          generate: { keys: ['password'] },
        },
      ];
      const spec = { kind: 'Deployment', name: this.#name, image: pushed.image, replicas: 2, secrets };
      const created = (answer: Answer): boolean => answer.status === 201 || answer.status === 200;
      await this.#write('POST', '/api/v1/deployments', { ...spec, environment: { ROUND: '1' } }, created);
      this.#told.round = '1';
      await this.#running();
      await this.#write('PUT', path, { environment: { ROUND: '2' } }, ({ status }) => status === 200);
      this.#told.round = '2';
      await this.#running();
      for (const phase of ['stage', 'promote', 'retire']) {
        const rotated = await this.#write(
          'POST',
          `${path}/secrets/rotate`,
          { phase },
          ({ status }) => status === 200,
        );
        this.#told.secretsVersion = Math.max(
          this.#told.secretsVersion,
          Number(rotated.body.secretsVersion ?? rotated.body.status?.secretsVersion ?? 0),
        );
        await this.#running();
      }
      expect(this.#told.secretsVersion).toBe(3);
      await this.#write('DELETE', path, undefined, ({ status }) => status < 300 || status === 404);
      delete this.#told.round;
      await this.#until('no container is left', '/api/v1/nodes', () => agent.running.length === 0);
      await this.#call('POST', `/api/v1/nodes/${this.#node}/drain`);
      await this.#release();
      expect([...agent.started.values()].filter((times) => times > 1)).toEqual([]);
    } finally {
      await agent.stop();
    }
  }

  async #release(): Promise<void> {
    for (const endMs = performance.now() + STEP_MS; ; await pause(15)) {
      const { status, body } = await this.#call('DELETE', `/api/v1/nodes/${this.#node}`);
      if (status < 300 || status === 404) return;
      if (performance.now() > endMs) throw new Error(`not released: ${JSON.stringify(body)}`);
    }
  }
}

let ways = 0;

/** Answers the number of commits. */
async function walk(kills: readonly CommitKill[]): Promise<number> {
  rmSync(countFileOf(killFile), { force: true });
  writeFileSync(killFile, JSON.stringify(kills));
  const way = new Way((ways += 1));
  await way.go();
  rmSync(killFile);
  if (!plane.running) await plane.start();
  const counted = countFileOf(killFile);
  expect(way.lost, `lost with ${JSON.stringify(kills)}`).toEqual([]);
  return existsSync(counted) ? Number(readFileSync(counted, 'utf8')) : 0;
}

/** What is kept of a tenant, by kind. */
async function leftovers(): Promise<unknown> {
  const call = plane.as(tenantToken);
  const all = await Promise.all(
    ['deployments', 'nodes'].map(
      async (kind) => [kind, (await call('GET', `/api/v1/${kind}`)).body] as const,
    ),
  );
  return Object.fromEntries(all);
}

function spread(commits: number): readonly CommitKill[] {
  return Array.from({ length: KILLS_OF_USUAL_WAY }, (_, index) => ({
    at: Math.ceil(((index + 0.5) * commits) / KILLS_OF_USUAL_WAY),
    side: SIDES[index % SIDES.length] ?? 'before',
  }));
}

describe('kill -9 of the control plane', () => {
  it('before and after its durable commits', { timeout: TIMEOUT_MS }, async () => {
    const commits = await walk([]);
    const plans: readonly (readonly CommitKill[])[] = LONG_TIER
      ? Array.from({ length: commits }, (_, at) => SIDES.map((side) => [{ at: at + 1, side }])).flat()
      : [spread(commits)];
    for (const kills of plans) await walk(kills);
    console.log(
      `${commits} commits, ${plans.length} ways, ${killed} kills: 0 acknowledged writes lost, 0 containers twice, 0 left`,
    );
    expect(await leftovers()).toEqual({ deployments: [], nodes: [] });
    // The number of commits differs a little from way to way, so that the last of them are not always reached.
    expect(killed).toBeGreaterThanOrEqual(Math.floor(plans.flat().length * 0.9));
  });
});
