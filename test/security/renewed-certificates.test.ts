import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect } from 'vitest';
import { AGENT_FEATURES } from '../../src/agent/session/node-facts.ts';
import type { Identity } from '../../src/agent/session/identity.ts';
import { Session } from '../../src/agent/session/session.ts';
import { caDigestOf } from '../../src/server/api/join-address.ts';
import { attack } from '../support/attack.ts';
import { Chain } from '../support/harness/chain.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { NODE_FACTS } from '../support/agents/scripted-agent.ts';

const SLOW_MS = 40_000;

let folder: string;
let chain: Chain;
let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-chain-'));
  chain = new Chain(folder);
  chain.selfSigned('root', true);
  chain.signed('one', 'root', true);
  chain.signed('two', 'root', true);
  chain.signed('leaf-one', 'one', false);
  chain.signed('leaf-two', 'two', false);
  chain.selfSigned('own', false);
  chain.show('leaf-one', 'one');
  // The test itself asks over TLS that it does not judge.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  plane = await startControlPlane([], {
    BERTH_TLS_CERT: chain.file('tls.crt'),
    BERTH_TLS_KEY: chain.file('tls.key'),
    BERTH_TLS_NEXT: chain.file('next.crt'),
  });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  await plane.close();
  await rm(folder, { recursive: true, force: true });
});

/** The agent's own session, with what it would have kept on its disk. */
class Node {
  readonly #stop = new AbortController();
  readonly #done: Promise<unknown>;
  kept: Identity;
  welcomes = 0;
  isUp = false;
  problem = '';

  constructor(identity: Identity, key: ConstructorParameters<typeof Session>[0]['key']) {
    this.kept = identity;
    const session = new Session({
      identity,
      key,
      facts: async () => ({ ...NODE_FACTS, features: AGENT_FEATURES }),
      handlers: {
        onWelcome: () => {
          this.welcomes += 1;
          this.isUp = true;
        },
        onMessage: () => undefined,
        onLost: () => {
          this.isUp = false;
        },
      },
      random: () => 0.1,
      onAnchors: (anchors) => {
        this.kept = { ...this.kept, anchors };
      },
      log: {
        debug: () => undefined,
        info: () => undefined,
        warn: (_message, details) => {
          this.problem = String(details?.['reason'] ?? '');
        },
        error: () => undefined,
      },
    });
    this.#done = session.run(this.#stop.signal);
  }

  async stop(): Promise<Identity> {
    this.#stop.abort();
    await this.#done;
    return this.kept;
  }
}

/** What the control plane shows at this moment. */
function shownSerial(): Promise<string> {
  const { port } = new URL(plane.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

async function renewed(change: () => void): Promise<void> {
  const before = await shownSerial();
  change();
  await eventually(shownSerial, (serial) => serial !== before);
}

async function joined(
  name: string,
): Promise<{ identity: Identity; key: Awaited<ReturnType<NodeFlow['enrolled']>>['key'] }> {
  const { token, key } = await flow.enrolled(name, shop);
  const caDigest = caDigestOf(chain.read('one')) ?? '';
  return { key, identity: { server: plane.url, nodeName: name, nodeToken: token, caDigest } };
}

const up = (node: Node): Promise<unknown> =>
  eventually(
    async () => node.isUp || node.problem,
    () => node.isUp,
    SLOW_MS,
  );

attack(
  'operator',
  'a certificate renewed under another intermediate, and then by one signed by itself',
  async () => {
    const { identity, key } = await joined('chain-1');
    const first = new Node(identity, key.privateKey);
    await up(first);
    const before = first.kept.anchors;
    expect(before?.length).toBe(2);
    // The root is told ahead; the chain that is shown leaves it out.
    await writeFile(chain.file('next.crt'), chain.read('root'));
    await eventually(
      async () => first.kept.anchors?.length,
      (count) => count === 3,
    );
    const kept = await first.stop();
    await renewed(() => chain.show('leaf-two', 'two'));
    const second = new Node(kept, key.privateKey);
    await up(second);
    // One that was told nothing of it does not believe it, whatever the name.
    const stranger = new Node(identity, key.privateKey);
    await eventually(
      async () => stranger.problem,
      (problem) => problem.includes('not the pinned one'),
    );
    await stranger.stop();
    // A key of its own comes next, then stays when the certificate is renewed.
    await writeFile(chain.file('next.crt'), chain.read('own'));
    const own = new X509Certificate(chain.read('own')).publicKey;
    // Not just others: those of the certificate that is shown since may come meanwhile.
    await eventually(
      async () => second.kept.anchors,
      (anchors) => anchors?.includes(own.export({ type: 'spki', format: 'der' }).toString('base64')) === true,
    );
    const again = await second.stop();
    await renewed(() => chain.show('own'));
    const third = new Node(again, key.privateKey);
    await up(third);
    const last = await third.stop();
    expect(last.anchors?.length).toBe(1);
    await renewed(() => {
      chain.selfSigned('own', false, true);
      chain.show('own');
    });
    const fourth = new Node(last, key.privateKey);
    await up(fourth);
    await fourth.stop();
  },
  120_000,
);
