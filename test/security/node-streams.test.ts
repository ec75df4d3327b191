import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect } from 'vitest';
import { RelayLink } from '../../src/agent/volumes/relay-link.ts';
import type { NodeName, TenantId, VolumeId } from '../../src/core/model/ids.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import type { AgentIdentity, ScriptedAgent } from '../support/agents/scripted-agent.ts';

const FOLLOWERS = 64;
const VOLUME = 'vol_copied';
const EPOCH = 3;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let agent: ScriptedAgent;
let link: RelayLink;
let copyLink: RelayLink;
const reading = new AbortController();

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  const linkOf = ({ url, node, token }: AgentIdentity) =>
    new RelayLink({ server: url, nodeName: node, nodeToken: token });
  link = linkOf((await flow.connected('primary', shop)).identity);
  const copy = await flow.connected('copy', shop);
  agent = copy.agent;
  copyLink = linkOf(copy.identity);
  const { id, specHash } = await flow.placed(shop, 'web', 'copy');
  agent.report([{ id, phase: 'running', specHash, secretsVersion: 0, containerId: 'c1', startedAt: 't1' }]);
  const store = plane.store.forTenant(shop.id as TenantId);
  await eventually(
    async () => store.get('observations', idOf('observations', 'web', id))?.record.phase,
    (phase) => phase === 'running',
  );
  const volume = {
    id: VOLUME as VolumeId,
    tenantId: shop.id as TenantId,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 2 ** 20,
    primaryNodeId: 'primary' as NodeName,
    copies: 1,
    replicas: [{ nodeId: 'copy' as NodeName, state: 'live' }],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: EPOCH,
    leaseMs: 60_000,
    createdAt: new Date(0).toISOString(),
  } as const;
  await store.commit(store.transaction().put('volumes', idOf('volumes', VOLUME), volume));
});
afterAll(async () => {
  reading.abort();
  flow.close();
  await plane.close();
});

/** Follows the log; answers its first words, which say so when the node has no room for it. */
async function follow(): Promise<string> {
  const response = await fetch(`${plane.url}/api/v1/deployments/web/logs?follow=true`, {
    headers: { authorization: `Bearer ${shop.token}` },
    signal: reading.signal,
  });
  const reader = response.body?.getReader();
  const first = await Promise.race([
    reader?.read().catch(() => undefined),
    new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 2000)),
  ]);
  return first?.value === undefined ? '' : Buffer.from(first.value).toString();
}

async function copyArrives(): Promise<unknown> {
  const header = { engine: 'btrfs', sequence: 4, takenAt: new Date(0).toISOString() } as const;
  const copy = { volumeId: VOLUME, volumeEpoch: EPOCH, target: 'copy', header };
  const sent = link.send(copy, Readable.from([Buffer.from('bytes')]), new AbortController().signal);
  const request = await agent.next('request', ({ operation }) => operation.kind === 'volume-receive');
  if (request.operation.kind !== 'volume-receive') return undefined;
  const received = copyLink.fetch(request.operation.relayId, reading.signal);
  for await (const _part of received);
  agent.send({ type: 'end', streamId: request.streamId });
  return sent;
}

attack('viewer', 'followed logs until a node takes no more streams', async () => {
  agent.answer('containers', [{ name: 'web' }]);
  agent.socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as {
      type: string;
      streamId: string;
      operation: { kind: string };
    };
    if (message.type !== 'request' || message.operation.kind !== 'exec') return;
    agent.send({ type: 'data', streamId: message.streamId, text: 'done', channel: 'stdout' });
    agent.send({ type: 'end', streamId: message.streamId, exitCode: 0 });
  });
  const told = await Promise.all(Array.from({ length: FOLLOWERS }, follow));
  const exec = await shop.call('POST', '/api/v1/deployments/web/exec', { command: ['true'] });
  const containers = await shop.call('GET', '/api/v1/nodes/copy/containers');
  const copied = await copyArrives().catch((error: unknown) => String(error).slice(0, 80));
  expect({ exec: exec.status, containers: containers.status, copied }).toEqual({
    exec: 200,
    containers: 200,
    copied: { ok: true },
  });
  // Who is too many is told so, with the name of what is used up.
  expect(told.filter((text) => text.includes('followed logs')).length).toBe(FOLLOWERS - 24);
});
