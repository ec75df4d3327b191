import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SendOutcome } from '../../src/agent/volumes/copy-link.ts';
import { RelayLink } from '../../src/agent/volumes/relay-link.ts';
import type { NodeName, TenantId, VolumeId } from '../../src/core/model/ids.ts';
import type { VolumeRecord } from '../../src/core/model/volume.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import type { AgentIdentity, ScriptedAgent } from '../support/agents/scripted-agent.ts';

const MIB = 2 ** 20;
const EPOCH = 3;
const VOLUME = 'vol_relay';
const HEADER = { engine: 'btrfs', sequence: 4, takenAt: new Date(0).toISOString() } as const;

let plane: ControlPlane;
let flow: NodeFlow;
let receiver: ScriptedAgent;
let tenantId: TenantId;
let record: VolumeRecord;
const links = new Map<string, RelayLink>();

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  const shop = await plane.tenant('shop');
  const bank = await plane.tenant('bank');
  const link = ({ url, node, token }: AgentIdentity): void => {
    links.set(node, new RelayLink({ server: url, nodeName: node, nodeToken: token }));
  };
  link((await flow.connected('primary', shop)).identity);
  link((await flow.connected('other', shop)).identity);
  link((await flow.connected('foreign', bank)).identity);
  const copy = await flow.connected('copy', shop);
  link(copy.identity);
  receiver = copy.agent;
  tenantId = shop.id as TenantId;
  record = {
    id: VOLUME as VolumeId,
    tenantId,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 128 * MIB,
    primaryNodeId: 'primary' as NodeName,
    copies: 1,
    replicas: [{ nodeId: 'copy' as NodeName, state: 'live' }],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: EPOCH,
    leaseMs: 60_000,
    createdAt: new Date(0).toISOString(),
  };
  await stored(record);
});

async function stored(volume: VolumeRecord): Promise<void> {
  const store = plane.store.forTenant(tenantId);
  await store.commit(store.transaction().put('volumes', idOf('volumes', volume.id), volume));
}

afterAll(async () => {
  flow.close();
  await plane.close();
});

function linkOf(node: string): RelayLink {
  const link = links.get(node);
  if (link === undefined) throw new Error(`no link of ${node}`);
  return link;
}

interface Sending {
  readonly from?: string;
  readonly to?: string;
  readonly epoch?: number;
  readonly volumeId?: string;
}

async function send(
  stream: Readable,
  { from = 'primary', to = 'copy', ...more }: Sending = {},
  { signal } = new AbortController(),
): Promise<SendOutcome> {
  const copy = {
    volumeId: more.volumeId ?? VOLUME,
    volumeEpoch: more.epoch ?? EPOCH,
    target: to,
    header: HEADER,
  };
  return await linkOf(from).send(copy, stream, signal);
}

async function asked(): Promise<{ readonly streamId: string; readonly relayId: string }> {
  const { streamId, operation } = await receiver.next('request');
  if (operation.kind !== 'volume-receive') throw new Error(`asked for ${operation.kind}`);
  expect(operation).toMatchObject({ volumeId: VOLUME, volumeEpoch: EPOCH, copy: HEADER });
  return { streamId, relayId: operation.relayId };
}

function fetched(relayId: string, node = 'copy'): AsyncIterable<Uint8Array> {
  return linkOf(node).fetch(relayId, new AbortController().signal);
}

async function digest(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of parts) hash.update(part);
  return hash.digest('hex');
}

describe('a copy on its way through the control plane', () => {
  it('arrives whole and is confirmed when the receiver says so', async () => {
    const bytes = randomBytes(8 * MIB);
    const outcome = send(
      Readable.from([bytes.subarray(0, 300_000), bytes.subarray(300_000, MIB), ...pieces(bytes, MIB)]),
    );
    const { streamId, relayId } = await asked();
    expect(await digest(fetched(relayId))).toBe(createHash('sha256').update(bytes).digest('hex'));
    receiver.send({ type: 'end', streamId });
    expect(await outcome).toEqual({ ok: true });
  });

  it('is never taken for whole when the sender breaks off', async () => {
    const broken = Readable.from(
      (async function* () {
        yield randomBytes(MIB);
        throw new Error('the snapshot could not be read');
      })(),
    );
    const outcome = send(broken);
    const { streamId, relayId } = await asked();
    await expect(digest(fetched(relayId))).rejects.toThrow();
    receiver.send({ type: 'end', streamId, error: { reason: 'receive_failed', message: 'cut' } });
    expect(await outcome).toMatchObject({ ok: false });
  });

  it('brings the receiver to the sender with what it has', async () => {
    const outcome = send(Readable.from([randomBytes(1000)]));
    const { streamId } = await asked();
    receiver.send({ type: 'data', streamId, value: { have: ['3.2', '2.9'] } });
    receiver.send({ type: 'end', streamId, error: { reason: 'parent_missing', message: '3.3 is not here' } });
    expect(await outcome).toEqual({
      ok: false,
      where: 'receiver',
      reason: 'parent_missing',
      message: '3.3 is not here',
      have: ['3.2', '2.9'],
    });
  });

  it('brings that too when the receiver left in the middle, and says it only then', async () => {
    const { outcome, streamId, end } = await held();
    await end();
    await new Promise((resolve) => setTimeout(resolve, 200));
    receiver.send({ type: 'data', streamId, value: { have: ['3.3'] } });
    receiver.send({ type: 'end', streamId, error: { reason: 'receive_failed', message: 'no space left' } });
    expect(await outcome).toEqual({
      ok: false,
      where: 'receiver',
      reason: 'receive_failed',
      message: 'no space left',
      have: ['3.3'],
    });
  });

  it('waits for a slow receiver instead of being kept in memory', async () => {
    let made = 0;
    const endless = Readable.from(
      (function* () {
        for (const chunk = Buffer.alloc(64 * 1024); made < 1024 * MIB; made += chunk.length) yield chunk;
      })(),
      { highWaterMark: 1 },
    );
    const outcome = send(endless);
    const { streamId, relayId } = await asked();
    const parts = fetched(relayId)[Symbol.asyncIterator]();
    await parts.next();
    for (let before = -1; before !== made; ) {
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(made).toBeLessThan(64 * MIB);
    await parts.return?.();
    receiver.send({ type: 'end', streamId, error: { reason: 'receive_failed', message: 'enough' } });
    expect(await outcome).toMatchObject({ ok: false });
  });
});

/** Sends on until the way is full, to a receiver that has stopped reading. */
async function held() {
  const chunk = Buffer.alloc(64 * 1024);
  let made = 0;
  const endless = Readable.from(
    (function* () {
      for (; made < 1024; made += 1) yield chunk;
    })(),
    { highWaterMark: 1 },
  );
  const outcome = send(endless);
  const { streamId, relayId } = await asked();
  const parts = fetched(relayId)[Symbol.asyncIterator]();
  await parts.next();
  for (let before = -1; before !== made; ) {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return { outcome, streamId, end: () => parts.return?.() };
}

describe('a copy under way is given up', () => {
  it('when its sender is the primary of that epoch no more, also if the receiver takes nothing', async () => {
    const { outcome, streamId, end } = await held();
    await stored({ ...record, epoch: EPOCH + 1 });
    expect(await receiver.next('cancel', (message) => message.streamId === streamId)).toBeDefined();
    expect(await outcome).toMatchObject({ ok: false, where: 'way' });
    await stored(record);
    await end();
  });
});

describe('a copy is refused', () => {
  const nothing = (): Readable => Readable.from([Buffer.from('x')]);

  it.each<[string, Sending, string]>([
    ['from a node that is not the primary', { from: 'other' }, 'role_forbidden'],
    ['from the node that keeps the copy', { from: 'copy' }, 'role_forbidden'],
    ['under an older epoch', { epoch: EPOCH - 1 }, 'role_forbidden'],
    ['under an epoch that is not yet', { epoch: EPOCH + 1 }, 'role_forbidden'],
    ['to a node that keeps no copy', { to: 'other' }, 'role_forbidden'],
    ["to another tenant's node", { to: 'foreign' }, 'role_forbidden'],
    ["from another tenant's node", { from: 'foreign' }, 'volume_not_found'],
    ['of a volume that is not there', { volumeId: 'vol_none' }, 'volume_not_found'],
  ])('%s', async (_case, sending, reason) => {
    expect(await send(nothing(), sending)).toMatchObject({ ok: false, where: 'way', reason });
  });

  it('when those of its tenant take all the room that one tenant gets', async () => {
    const many = Array.from({ length: 65 }, (_, index) => `vol_many${index}`);
    await Promise.all(many.map((id) => stored({ ...record, id: id as VolumeId })));
    const aborter = new AbortController();
    const [last = '', ...others] = many;
    const waiting: Promise<SendOutcome>[] = [];
    for (const volumeId of others) {
      waiting.push(send(nothing(), { volumeId }, aborter));
      await receiver.next('request');
    }
    expect(await send(nothing(), { volumeId: last })).toMatchObject({
      ok: false,
      reason: 'agent_unreachable',
    });
    aborter.abort();
    await Promise.all(waiting);
  });

  it('to anybody but the node that it is for', async () => {
    const outcome = send(nothing());
    const { streamId, relayId } = await asked();
    await expect(digest(fetched(relayId, 'other'))).rejects.toThrow('no such relay');
    await expect(digest(fetched(relayId, 'foreign'))).rejects.toThrow('no such relay');
    expect(await digest(fetched(relayId))).toBe(createHash('sha256').update('x').digest('hex'));
    // Once: what was fetched cannot be fetched again.
    await expect(digest(fetched(relayId))).rejects.toThrow('no such relay');
    receiver.send({ type: 'end', streamId });
    expect(await outcome).toEqual({ ok: true });
  });
});

function* pieces(bytes: Buffer, from: number): Generator<Buffer> {
  for (let at = from; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}
