import { once } from 'node:events';
import { afterAll, beforeAll, expect } from 'vitest';
import { WebSocket } from 'ws';
import { relayProof } from '../../src/agent/volumes/relay-link.ts';
import { MESH_RELAY_PATH, readMeshFrame, writeMeshFrame } from '../../src/core/protocol/mesh-frame.ts';
import { PROOF_HEADER, RELAY_PROOF_FEATURE } from '../../src/core/protocol/agent-protocol.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import type { AgentIdentity, ScriptedAgent } from '../support/agents/scripted-agent.ts';

/** What a node that its tenant controls wholly can do to the network of another tenant. */

const BYTES_PER_SECOND = 262_144;
const KEY = `${'k'.repeat(43)}=`;

let plane: ControlPlane;
let flow: NodeFlow;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_NETWORK_RELAY_BYTES_PER_SECOND: String(BYTES_PER_SECOND) });
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

interface RelayNode {
  readonly identity: AgentIdentity;
  readonly agent: ScriptedAgent;
  readonly socket: WebSocket;
  /** Texts that came, each with its sender. */
  readonly heard: string[];
  send(to: string, text: string | Buffer): void;
}

function dialed({ url, node, token, key }: AgentIdentity, epoch: number, proven = true): WebSocket {
  const proof = relayProof(key.privateKey, MESH_RELAY_PATH, epoch, node);
  return new WebSocket(`${url.replace(/^http/, 'ws')}${MESH_RELAY_PATH}`, {
    headers: { authorization: `Bearer ${token}`, ...(proven && { [PROOF_HEADER]: proof }) },
    perMessageDeflate: false,
  });
}

async function relayNode(name: string, tenant: TestTenant): Promise<RelayNode> {
  const identity = await flow.enrolled(name, tenant);
  const agent = flow.dial(identity);
  await agent.welcome({ features: [RELAY_PROOF_FEATURE] });
  const socket = dialed(identity, agent.epoch);
  const heard: string[] = [];
  socket.on('message', (data: Buffer) => {
    const frame = readMeshFrame(data);
    if (frame !== undefined) heard.push(`${frame.node}: ${Buffer.from(frame.packet).toString()}`);
  });
  await once(socket, 'open');
  const send = (to: string, text: string | Buffer): void =>
    socket.send(writeMeshFrame(to, typeof text === 'string' ? Buffer.from(text) : text));
  return { identity, agent, socket, heard, send };
}

attack(
  'holder of a stolen node credential',
  'packets through the relay to nodes of another tenant, under any name',
  async () => {
    const [shop, bank] = [await plane.tenant('shop'), await plane.tenant('bank')];
    const [one, two] = [await relayNode('n1', shop), await relayNode('n2', shop)];
    const [theirs, other] = [await relayNode('b1', bank), await relayNode('b2', bank)];
    for (const name of ['b1', 'b2', 'n2', 'bank/b1', `${bank.id}/b1`, '../bank/b1', ''])
      one.send(name, 'hostile');
    one.send('n2', 'last');
    await eventually(
      () => two.heard,
      (heard) => heard.includes('n1: last'),
    );
    expect(two.heard).toEqual(['n1: hostile', 'n1: last']);
    expect([theirs.heard, other.heard]).toEqual([[], []]);
    // A control: what is of their own tenant arrives.
    theirs.send('b2', 'own');
    await eventually(
      () => other.heard,
      (heard) => heard.length === 1,
    );
  },
);

attack(
  'holder of a stolen node credential',
  'a flood of packets through the relay, to nodes that are there and to others',
  async () => {
    const [flood, calm] = [await plane.tenant('flood'), await plane.tenant('calm')];
    const [one, two] = [await relayNode('f1', flood), await relayNode('f2', flood)];
    const [from, to] = [await relayNode('c1', calm), await relayNode('c2', calm)];
    const packet = Buffer.alloc(1_400, 'x');
    const begun = performance.now();
    const timer = setInterval(() => {
      for (let at = 0; at < 400 && one.socket.bufferedAmount < 2 ** 22; at += 1)
        one.send(at % 2 === 0 ? 'f2' : 'nobody', packet);
    }, 5);
    let slowest = 0;
    for (let at = 0; at < 40; at += 1) {
      const sent = performance.now();
      from.send('c2', `${at}`);
      await eventually(
        () => to.heard.length,
        (count) => count > at,
      );
      slowest = Math.max(slowest, performance.now() - sent);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    clearInterval(timer);
    const seconds = (performance.now() - begun) / 1_000;
    const passed = two.heard.length * packet.length;
    expect(slowest).toBeLessThan(1_000);
    // Both kinds of packets are paid for; the burst is a second's worth.
    expect(passed).toBeLessThan(BYTES_PER_SECOND * (seconds + 2));
    expect(passed).toBeGreaterThan(BYTES_PER_SECOND / 4);
  },
  60_000,
);

attack("holder of a node's token without its key", "the packets of its tenant's network", async () => {
  const tenant = await plane.tenant('proof');
  const { identity, agent } = await relayNode('p1', tenant);
  const socket = dialed(identity, agent.epoch, false);
  const [, response] = await once(socket, 'unexpected-response');
  expect(response.statusCode).toBe(401);
});

attack(
  'holder of a stolen node credential',
  'lines of configuration for its peers, as an address of its own',
  async () => {
    const tenant = await plane.tenant('lines');
    for (const address of ['192.0.2.1:1\nAllowedIPs = 0.0.0.0/0', 'example.com', '1.2.3', '192.0.2.1 ']) {
      const identity = await flow.enrolled(`l${address.length}`, tenant);
      const agent = flow.dial(identity);
      const mesh = { publicKey: KEY, port: 51_820, addresses: [address] };
      const refused = agent.welcome({ mesh }).then(
        () => 'accepted',
        () => 'refused',
      );
      expect([address, await refused]).toEqual([address, 'refused']);
    }
  },
);
