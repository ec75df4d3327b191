import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import type { AssignedContainer, AssignedInstance } from '../../src/core/contract/agent-protocol.ts';
import { AgentProcess } from '../support/agent.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/engine.ts';
import { FakeControlPlane, JOIN_TOKEN, NODE_TOKEN } from '../support/fake-control-plane.ts';

const IMAGE = 'berth.test/box:1';

let daemon: TestEngine;
let engine: DockerEngine;
let plane: FakeControlPlane;
let agent: AgentProcess;

beforeAll(async () => {
  daemon = await startEngine({ liveRestore: true });
  engine = new DockerEngine(daemon.socketPath);
  await buildTestImage(daemon, IMAGE);
});

afterAll(async () => {
  await daemon.stop();
});

async function join(more: readonly string[] = []): Promise<void> {
  plane = await FakeControlPlane.start();
  agent = new AgentProcess({
    server: plane.url,
    socketPath: daemon.socketPath,
    more: ['--name=n1', ...more],
  });
  agent.start();
}

afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
  for (const { id } of await engine.list({ all: true })) await engine.remove(id, { force: true });
});

function instance(
  id: string,
  container: Partial<AssignedContainer> = {},
  more: Partial<AssignedInstance> = {},
): AssignedInstance {
  const deployment = more.deployment ?? 'web';
  return {
    id,
    deployment,
    wanted: 'run',
    specHash: 'hash1',
    secretsVersion: 0,
    attempt: 0,
    container: {
      image: IMAGE,
      environment: {},
      needsSecrets: false,
      ports: [],
      labels: {},
      mounts: [],
      alias: deployment,
      ...container,
    },
    ...more,
  };
}

function stopped(id: string): AssignedInstance {
  const { container: _none, ...rest } = instance(id);
  return { ...rest, wanted: 'stop' };
}

describe('an agent', () => {
  it('joins, runs an instance and stops it', async () => {
    await join(['--label=berth.io/country=DE']);
    plane.assign([instance('ins_0001')]);
    const seen = await plane.untilPhase('ins_0001', 'running');
    expect(seen).toMatchObject({ containerName: 'web', specHash: 'hash1', secretsVersion: 0 });
    expect(plane.registration).toMatchObject({ nodeName: 'n1', platform: expect.stringMatching(/^linux\//) });
    expect(agent.output).toMatch(/^node n1 ready: docker \d+\.\d+, \d+ CPU, [\d.]+ GiB, country=DE$/m);
    const state = await engine.inspect('web');
    expect(state.labels).toMatchObject({
      'berth.io/instance': 'ins_0001',
      'berth.io/node': 'n1',
      'berth.io/install': 'inst-test',
    });
    expect(state.networks).toMatchObject([{ name: 'berth-shop' }]);
    plane.assign([stopped('ins_0001')]);
    await plane.untilPhase('ins_0001', 'removed');
    expect(await engine.list({ all: true })).toEqual([]);
    expect(await agent.end('SIGTERM')).toBe(0);
    expect(agent.output).not.toContain(JOIN_TOKEN);
    expect(agent.output).not.toContain(NODE_TOKEN);
  });
});
