import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { CredentialCallers } from '../support/credential-callers.ts';
import { inTier } from '../support/fault-tier.ts';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { Dice } from '../support/openapi-fuzz.ts';
import { startVaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { type FaultProxy, startFaultProxy, type VaultFault } from '../support/harness/vault/fault-proxy.ts';
import { realVault } from '../support/harness/vault/given.ts';
import { VaultOperator } from '../support/harness/vault/operator.ts';

/**
 * A proxy between the control plane and its secrets store loses, delays and repeats calls and answers, while two callers rotate and
 * write one credential that two deployments share, and containers are made anew all the time. The law: the value of every container
 * was accepted by a stage or a write. `CREDENTIAL_ROTATIONS` sets how many rotations are completed, `CREDENTIAL_SEED` the choices.
 */
const ROTATIONS = Number(process.env['CREDENTIAL_ROTATIONS'] ?? inTier({ usual: 9, long: 500 }));
const SEED = Number(process.env['CREDENTIAL_SEED'] ?? 20_261_115);
const VAULT_DEADLINE_MS = 500;
/** The usual run ends after this time however far it came: a busy machine is no failure. */
const ENOUGH_MS =
  process.env['CREDENTIAL_ROTATIONS'] === undefined
    ? inTier({ usual: 25_000, long: Number.POSITIVE_INFINITY })
    : Number.POSITIVE_INFINITY;
const PATIENCE_MS = 240_000;
const TIMEOUT_MS = 900_000 + ROTATIONS * 30_000;
const FAULTS: readonly VaultFault[] = ['slow', 'reset', 'unanswered', 'dropped', 'late', 'twice'];
/** Of the calls. A container needs several to be made. */
const SHARE = 0.06;
const SHARE_OF_WRITES = 0.4;
const SILENCE_MS = VAULT_DEADLINE_MS * 1.5;
const RESTART_MS = 150;
const NAMES = ['shop', 'billing'] as const;

const folder = mkdtempSync(join(tmpdir(), 'berth-credentials-'));
const random = new Dice(SEED);
let faulty = true;
let silentUntil = 0;
let plane: ControlPlane;
let proxy: FaultProxy;
let agent: LiveAgent;
let stopVault: () => Promise<void> = () => Promise.resolve();
let removeMount: () => Promise<unknown> = () => Promise.resolve();
let callers: CredentialCallers;

/**
 * Every kind of call is hit; logins and health are not what this is about. A write that is hit is mostly followed by a silence in which
 * nobody can find out what became of it.
 */
function choose(call: string): VaultFault {
  if (!faulty || !/ berth-[^/]+\/(?:data|metadata|subkeys)\//.test(call)) return 'none';
  if (performance.now() < silentUntil) return 'dropped';
  const isWrite = call.startsWith('POST');
  if (random.next() >= (isWrite ? SHARE_OF_WRITES : SHARE)) return 'none';
  if (isWrite && random.next() < 0.7) silentUntil = performance.now() + SILENCE_MS;
  return random.pick(FAULTS);
}

beforeAll(async () => {
  const real = realVault();
  const endpoint = real === undefined ? await startVaultEndpoint() : undefined;
  const token = real?.token ?? endpoint?.rootToken ?? '';
  const target = real?.address ?? endpoint?.address ?? '';
  if (endpoint !== undefined) stopVault = () => endpoint.close();
  proxy = await startFaultProxy({
    target,
    ca: real?.ca,
    choose,
    lateMs: VAULT_DEADLINE_MS * 2,
    slowMs: VAULT_DEADLINE_MS / 5,
  });
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
  plane = await startControlPlane([], {
    BERTH_SECRETS_KIND: 'vault',
    BERTH_SECRETS_VAULT_ADDRESS: proxy.address,
    BERTH_SECRETS_VAULT_TOKEN_FILE: join(folder, 'token'),
    BERTH_SECRETS_VAULT_TIMEOUT: `${VAULT_DEADLINE_MS}ms`,
    BERTH_TIMERS_SETTLE: '20ms',
    BERTH_RATE_LIMIT_PER_SECOND: '100000',
    BERTH_RATE_LIMIT_BURST: '100000',
  });
  const tenant = await plane.tenant('shop');
  const operator = new VaultOperator({
    address: target,
    token,
    ...(real?.ca === undefined ? {} : { ca: real.ca }),
  });
  removeMount = () => operator.call('DELETE', `sys/mounts/berth-${tenant.id}`);
  callers = new CredentialCallers(tenant.call, random, NAMES);
  faulty = false;
  await callers.begin();
  const identity = await new NodeFlow(plane).enrolled('n1', tenant);
  agent = new LiveAgent(identity, [plane.url], 0, (instance, environment) =>
    callers.delivered(instance.deployment, environment),
  );
  await runs();
  faulty = true;
});

afterAll(async () => {
  await agent?.stop();
  await plane?.close();
  await proxy?.close();
  await removeMount();
  await stopVault();
  rmSync(folder, { recursive: true, force: true });
});

async function runs(): Promise<void> {
  const running = ({ body }: Answer): boolean => body.status?.phase === 'Running';
  for (const name of NAMES)
    await eventually(() => callers.call('GET', `/api/v1/deployments/${name}`), running, PATIENCE_MS);
}

describe('a credential whose store loses, delays and repeats', () => {
  it('gives containers nothing that was not accepted', { timeout: TIMEOUT_MS }, async () => {
    const started = performance.now();
    let over = false;
    const isEnough = (): boolean => callers.rotations >= ROTATIONS || performance.now() - started > ENOUGH_MS;
    const restarting = (async () => {
      while (!over) {
        const ids = agent.running;
        if (ids.length > 0) agent.restart(random.pick(ids));
        await pause(RESTART_MS);
      }
    })();
    await Promise.all(NAMES.map((name) => callers.rotateUntil(name, isEnough)));
    over = true;
    await restarting;
    faulty = false;
    await eventually(
      async () => proxy.underWay,
      (calls) => calls === 0,
      PATIENCE_MS,
    );
    await callers.settle();
    await runs();
    for (const id of agent.running) agent.restart(id);
    await eventually(
      async () => callers.newest(),
      (values) => new Set(values).size === 1,
      PATIENCE_MS,
    );
    const last = await callers.write();
    for (const id of agent.running) agent.restart(id);
    await eventually(
      async () => callers.newest(),
      (values) => values.length === NAMES.length && values.every((value) => value === last),
      PATIENCE_MS,
    );
    const { accepted, refused, uncertain, deliveries } = callers.figures();
    const faults = FAULTS.map((fault) => `${fault} ${proxy.done.get(fault) ?? 0}`).join(', ');
    console.log(
      `${callers.rotations} rotations by two callers in ${((performance.now() - started) / 1000).toFixed(0)} s, seed ${SEED}: ` +
        `${accepted} values accepted, ${refused} refused (${uncertain} of them with the store silent), ${deliveries} deliveries, ` +
        `${callers.violations().length} of a value that was not accepted; ${proxy.done.get('none') ?? 0} calls without a fault, ${faults}`,
    );
    expect(callers.violations()).toEqual([]);
    expect(callers.figures().deliveries).toBeGreaterThan(0);
  });
});
