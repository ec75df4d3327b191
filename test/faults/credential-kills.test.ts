import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommitKill, countFileOf } from '../support/commit-killer.ts';
import type { Answer, Caller } from '../support/harness/control-plane.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { eventually } from '../support/eventually.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';
import { startVaultEndpoint, type VaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { type FaultProxy, startFaultProxy } from '../support/harness/vault/fault-proxy.ts';

/**
 * A control plane whose secrets store shares no commit with it dies by kill -9 at a call to that store or at a commit of its own, just
 * before or just after it, while a document is written or a rotation staged. What containers are given afterwards was accepted: the
 * event of the acceptance is in the same commit. The usual tier kills around the write of the store and after the acceptance, the
 * long one at every call and commit.
 */
const KILLER = new URL('../support/commit-killer.ts', import.meta.url).href;
const SIDES = ['before', 'after'] as const;
const STEP_MS = 240_000;
type Kind = 'write' | 'stage';
interface Point {
  readonly kind: Kind;
  readonly of: 'call' | 'commit';
  readonly at: number;
  readonly side: (typeof SIDES)[number];
}

const folder = mkdtempSync(join(tmpdir(), 'berth-credential-kills-'));
const killFile = join(folder, 'commits.json');
let vault: VaultEndpoint;
let proxy: FaultProxy;
let plane: PlaneProcess;
let tenantId: string;
let token: string;
let agent: LiveAgent;
/** What each deployment's container was given last. */
const given = new Map<string, Readonly<Record<string, string>>>();
/** Calls for documents since it was armed, and at which of them to kill. */
const calls = { count: 0, writes: [] as number[], point: undefined as Point | undefined };
let killed = 0;

function kill(): void {
  killed += 1;
  process.kill(plane.pid, 'SIGKILL');
}

const isDocument = (call: string): boolean => / berth-[^/]+\/(?:data|metadata|subkeys)\//.test(call);
const isHit = (side: Point['side']): boolean =>
  calls.point?.of === 'call' && calls.point.at === calls.count && calls.point.side === side;

beforeAll(async () => {
  vault = await startVaultEndpoint();
  proxy = await startFaultProxy({
    target: vault.address,
    lateMs: 0,
    slowMs: 0,
    choose: (call) => {
      if (!isDocument(call)) return 'none';
      calls.count += 1;
      if (call.startsWith('POST')) calls.writes.push(calls.count);
      if (!isHit('before')) return 'none';
      kill();
      return 'dropped';
    },
    onDone: (call) => {
      if (isDocument(call) && isHit('after')) kill();
    },
  });
  writeFileSync(join(folder, 'token'), vault.rootToken, { mode: 0o600 });
  plane = new PlaneProcess({
    NODE_OPTIONS: `--import=${KILLER}`,
    KILL_AT_COMMITS: killFile,
    BERTH_SECRETS_KIND: 'vault',
    BERTH_SECRETS_VAULT_ADDRESS: proxy.address,
    BERTH_SECRETS_VAULT_TOKEN_FILE: join(folder, 'token'),
    BERTH_TIMERS_SETTLE: '50ms',
  });
  await plane.start();
  const tenant = await plane.tenant('shop');
  tenantId = tenant.id;
  token = tenant.token;
  const join_ = await call('POST', '/api/v1/join-tokens', {});
  const key = agentKey();
  const node = await plane.as(join_.body.token as string)('POST', '/api/v1/nodes', nodeFacts('n1', key));
  agent = new LiveAgent(
    { node: 'n1', key, token: node.body.nodeToken as string },
    [plane.url],
    0,
    ({ deployment }, environment) => void given.set(deployment, environment),
  );
});

afterAll(async () => {
  await agent?.stop();
  await plane?.dispose();
  await proxy?.close();
  await vault?.close();
  rmSync(folder, { recursive: true, force: true });
});

const call: Caller = (...args) => plane.as(token)(...args);

const send = (kind: Kind, label: string, value: string): Promise<Answer> =>
  kind === 'write'
    ? call('PUT', `/api/v1/secrets/resources/${label}`, { values: { password: value } })
    : call('POST', `/api/v1/secrets/resources/${label}/rotate`, {
        phase: 'stage',
        values: { password: value },
      });

/** Versions that a commit of the control plane accepted, by what they hold. */
async function accepted(label: string): Promise<ReadonlySet<string>> {
  const { body } = await call('GET', `/api/v1/events?limit=1000&subject=resources/${label}`);
  const versions = new Set(
    (body as { kind: string; details: { version?: number; next?: number } }[]).flatMap(({ kind, details }) =>
      kind === 'secret.written' ? [details.version] : kind === 'secret.rotated' ? [details.next] : [],
    ),
  );
  const held = vault.contents(`berth-${tenantId}`, `resources/${label}`);
  return new Set(
    held.flatMap(([version, data]) => (versions.has(version) ? [String(data['password'])] : [])),
  );
}

/** A document and a deployment whose container has its value. */
async function begin(label: string): Promise<void> {
  expect((await send('write', label, `${label}-first`)).status).toBe(201);
  const secrets = [{ name: 'DB', vault_path: `resources/${label}`, anchor: 'external' }];
  const spec = { kind: 'Deployment', name: label, image: 'localhost:1/shop/web:1.0.0', secrets };
  expect((await call('POST', '/api/v1/deployments', spec)).status).toBe(201);
  await runs(label);
}

async function runs(name: string): Promise<void> {
  await eventually(
    () => call('GET', `/api/v1/deployments/${name}`),
    ({ body }) => body.status?.phase === 'Running',
    STEP_MS,
  );
}

/** What a container that is made now is given. */
async function made(name: string): Promise<Readonly<Record<string, string>>> {
  await runs(name);
  const { body } = await call('GET', `/api/v1/deployments/${name}/instances`);
  given.delete(name);
  for (const { id } of body as { id: string }[]) agent.restart(id);
  await eventually(
    async () => given.get(name),
    (environment) => environment !== undefined,
    STEP_MS,
  );
  return given.get(name) ?? {};
}

function arm(point: Point | undefined): void {
  Object.assign(calls, { count: 0, writes: [], point });
  rmSync(countFileOf(killFile), { force: true });
  const kills: readonly CommitKill[] = point?.of === 'commit' ? [{ at: point.at, side: point.side }] : [];
  writeFileSync(killFile, JSON.stringify(kills));
}

function disarm(): number {
  calls.point = undefined;
  rmSync(killFile, { force: true });
  const counted = countFileOf(killFile);
  return existsSync(counted) ? Number(readFileSync(counted, 'utf8')) : 0;
}

/** Both ways without a kill, to know their calls and commits. */
async function pointsOf(kind: Kind): Promise<readonly Point[]> {
  const label = `count-${kind}`;
  await begin(label);
  arm(undefined);
  expect((await send(kind, label, `${label}-second`)).status).toBe(200);
  // Instances are rolled after a stage; those commits are not what this is about.
  const commits = Math.min(disarm(), 2);
  const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  const all = [
    ...range(calls.count).flatMap((at) => SIDES.map((side) => ({ kind, of: 'call' as const, at, side }))),
    ...range(commits).flatMap((at) => SIDES.map((side) => ({ kind, of: 'commit' as const, at, side }))),
  ];
  if (LONG_TIER) return all;
  // Marked and not written, written and not accepted, accepted and not answered.
  return all.filter(({ of, at, side }) =>
    of === 'call' ? calls.writes.includes(at) : at === commits && side === 'after',
  );
}

async function die(point: Point, label: string): Promise<readonly string[]> {
  await begin(label);
  const second = `${label}-second`;
  arm(point);
  const before = killed;
  const answer = await send(point.kind, label, second).catch(() => undefined);
  await eventually(
    async () => plane.running,
    (running) => !running || answer !== undefined,
    STEP_MS,
  );
  if (point.of === 'commit' && !plane.running) killed += 1;
  disarm();
  if (killed === before) return [`no kill at ${JSON.stringify(point)}: ${answer?.status}`];
  await plane.start();
  const environment = await made(label);
  const fair = await accepted(label);
  const unfair = Object.entries(environment).filter(
    ([variable, value]) => variable.startsWith('DB_password') && !fair.has(value),
  );
  const wrong = unfair.map(
    ([variable, value]) => `${JSON.stringify(point)}: ${variable}=${value} was not accepted`,
  );
  // And it goes on: the next request is accepted, and is what counts.
  const staged = environment['DB_password_NEXT'] !== undefined;
  const third = `${label}-third`;
  if (!staged) {
    const next = await send(point.kind, label, third);
    if (next.status !== 200) wrong.push(`${JSON.stringify(point)}: then ${JSON.stringify(next.body)}`);
    const after = await eventually(
      () => made(label),
      (seen) => seen[point.kind === 'write' ? 'DB_password' : 'DB_password_NEXT'] === third,
      STEP_MS,
    );
    if (point.kind === 'stage' && !fair.has(after['DB_password'] ?? ''))
      wrong.push(`${JSON.stringify(point)}: ${after['DB_password']} beside the next`);
  }
  await call('DELETE', `/api/v1/deployments/${label}`);
  return wrong;
}

describe('kill -9 of a control plane between its secrets store and its own', () => {
  it('gives containers nothing that was not accepted', {
    timeout: LONG_TIER ? 7_200_000 : 1_200_000,
  }, async () => {
    const points = [...(await pointsOf('write')), ...(await pointsOf('stage'))];
    const wrong: string[] = [];
    for (const [index, point] of points.entries()) wrong.push(...(await die(point, `db-${index}`)));
    console.log(`${points.length} points, ${killed} kills: ${wrong.length} wrong`);
    expect(wrong).toEqual([]);
    expect(killed).toBe(points.length);
  });
});
