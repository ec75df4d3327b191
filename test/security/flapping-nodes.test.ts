import { sign } from 'node:crypto';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, expect } from 'vitest';
import { RELAY_PROOF_FEATURE, relayText } from '../../src/core/protocol/agent-protocol.ts';
import type { NodeName, TenantId, VolumeId } from '../../src/core/model/ids.ts';
import type { VolumeRecord } from '../../src/core/model/volume.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { type AgentIdentity, refusedUpgrade, type ScriptedAgent } from '../support/agents/scripted-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_AGENTS_SESSIONS_PER_SECOND: '500' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

/** Messages are taken in order: with this verdict, what was said before was taken too. */
async function taken(agent: ScriptedAgent): Promise<void> {
  agent.send({ type: 'ask', epoch: agent.epoch, instanceIds: [] });
  await agent.next('verdict');
}

async function eventsOf(query: string): Promise<readonly { readonly message: string }[]> {
  const { body } = await shop.call('GET', `/api/v1/events?${query}&limit=500`);
  return body as readonly { readonly message: string }[];
}

const TOGGLES = 400;

attack(
  'holder of a stolen node credential',
  'an engine that fails and recovers with every report',
  async () => {
    const { agent } = await flow.connected('flap-1', shop);
    for (let at = 0; at < TOGGLES; at += 1) {
      const problem = at % 2 === 0 ? { engineProblem: 'timeout' } : {};
      agent.send({
        type: 'report',
        epoch: agent.epoch,
        generation: 1,
        full: true,
        observations: [],
        ...problem,
      });
    }
    await taken(agent);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await eventsOf('subject=flap-1')).length).toBeLessThan(30);
  },
);

attack('holder of a stolen node credential', 'other labels with every session', async () => {
  const identity = await flow.enrolled('labels-1', shop);
  let refused = 0;
  for (let at = 0; at < 100; at += 1) {
    const agent = flow.dial(identity);
    const opened = await new Promise<boolean>((resolve) => {
      agent.socket.once('open', () => resolve(true));
      agent.socket.once('error', () => resolve(false));
    });
    if (!opened) {
      refused += 1;
      continue;
    }
    await agent.welcome({ labels: { at: String(at) } });
    agent.close();
    await agent.closed;
  }
  expect(refused).toBeGreaterThan(0);
  expect((await eventsOf('subject=labels-1')).length).toBeLessThan(30);
  expect(await refusedUpgrade(identity)).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
});

attack('holder of a stolen node credential', 'a container that runs and ends with every report', async () => {
  const { agent } = await flow.connected('states-1', shop);
  const { id, specHash } = await flow.placed(shop, 'states', 'states-1');
  const tenant = plane.store.forTenant(shop.id as TenantId);
  let writes = 0;
  const end = plane.store.view.onChange(({ kind }) => {
    if (kind === 'observations') writes += 1;
  });
  for (let at = 0; at < TOGGLES; at += 1) {
    const phase = at % 2 === 0 ? 'running' : 'exited';
    agent.report([{ id, phase, specHash, restarts: at }]);
    // One commit each, unless they are held back.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await taken(agent);
  expect(writes).toBeLessThan(80);
  // The last word is stored all the same, only later.
  const last = (): unknown => tenant.get('observations', idOf('observations', 'states', id))?.record.restarts;
  const until = performance.now() + 10_000;
  while (last() !== TOGGLES - 1 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 50));
  end();
  expect(last()).toBe(TOGGLES - 1);
});

attack('holder of a stolen node credential', 'failures without end, with much to say', async () => {
  const { agent } = await flow.connected('words-1', shop);
  const { id } = await flow.placed(shop, 'words', 'words-1');
  const other = await flow.connected('words-2', shop);
  const { id: foreign } = await flow.placed(shop, 'quiet', 'words-2');
  const lines = Array.from({ length: 64 }, () => ({ text: 'x'.repeat(1024) }));
  const told = { reason: 'container_exited', message: 'it ended', lines };
  for (let at = 0; at < 40; at += 1)
    agent.send({
      type: 'report',
      epoch: agent.epoch,
      generation: 0,
      full: false,
      observations: [],
      failures: [
        { ...told, instanceId: id, key: `k-${at}` },
        { ...told, lines: [], instanceId: foreign, key: `k-${at}` },
      ],
    });
  await taken(agent);
  const tenant = plane.store.forTenant(shop.id as TenantId);
  const kept = await eventually(
    'the last one that is taken is stored',
    async () => tenant.get('failures', idOf('failures', 'words'))?.record.kept ?? [],
    (all) => all.some(({ key }) => key === 'k-29'),
  );
  expect(kept).toHaveLength(2);
  expect(tenant.get('failures', idOf('failures', 'quiet'))).toBeUndefined();
  const { entries } = await tenant.rangeCold('failure-logs');
  expect(entries).toHaveLength(2);
  expect(JSON.stringify(entries).length).toBeLessThan(2 * 40 * 1024);
  other.agent.socket.terminate();
});

const VOLUME = 'vol_proof';
const PATH = `/agent/v1/volumes/${VOLUME}/copies/proof-2?epoch=1&engine=btrfs&sequence=1&takenAt=${encodeURIComponent(new Date(0).toISOString())}`;

function relay(identity: AgentIdentity, path: string, proof?: string): Promise<string> {
  const socket = new WebSocket(`${identity.url.replace(/^http/, 'ws')}${path}`, {
    headers: {
      authorization: `Bearer ${identity.token}`,
      ...(proof === undefined ? {} : { 'berth-proof': proof }),
    },
  });
  return new Promise((resolve) => {
    socket.once('open', () => {
      socket.terminate();
      resolve('open');
    });
    socket.once('error', (error) => resolve(error.message));
  });
}

attack("holder of a node's token without its key", 'copies of volumes through the relay', async () => {
  const { agent, identity } = await flow.connected('proof-1', shop, {}, { features: [RELAY_PROOF_FEATURE] });
  await flow.connected('proof-2', shop);
  const record: VolumeRecord = {
    id: VOLUME as VolumeId,
    tenantId: shop.id as TenantId,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 2 ** 27,
    primaryNodeId: 'proof-1' as NodeName,
    copies: 1,
    replicas: [{ nodeId: 'proof-2' as NodeName, state: 'live' }],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    leaseMs: 60_000,
    createdAt: new Date(0).toISOString(),
  };
  const store = plane.store.forTenant(shop.id as TenantId);
  await store.commit(store.transaction().put('volumes', idOf('volumes', VOLUME), record));
  const proofOf = (path: string, epoch: number): string =>
    sign(null, Buffer.from(relayText(path, epoch, identity.node)), identity.key.privateKey).toString(
      'base64',
    );
  expect(await relay(identity, PATH)).toContain('401');
  expect(await relay(identity, PATH, proofOf(PATH, agent.epoch - 1))).toContain('401');
  expect(await relay(identity, PATH, proofOf(`${PATH}0`, agent.epoch))).toContain('401');
  expect(await relay(identity, `/agent/v1/relay/${'a'.repeat(40)}`)).toContain('401');
  expect(await relay(identity, PATH, proofOf(PATH, agent.epoch))).toBe('open');
});
