import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { containerSpec } from '../../src/agent/containers/container-spec.ts';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import type { EngineKind } from '../../src/agent/engine/engine.ts';
import { collectOutput } from '../../src/agent/engine/exec-session.ts';
import type { AssignedContainer } from '../../src/core/protocol/agent-protocol.ts';
import {
  type ContainerDefaults,
  containerBounds,
  PLATFORM_CONTAINER_DEFAULTS,
} from '../../src/core/model/container-defaults.ts';
import { attack } from '../support/attack.ts';
import { buildTestImage, startEngine, startPodman, type TestEngine } from '../support/harness/engine.ts';
import { inTier } from '../support/fault-tier.ts';

const IMAGE = 'berth.test/box:1';
const NOBODY = 'berth.test/nobody:1';

interface Machine {
  readonly daemon: TestEngine;
  readonly engine: DockerEngine;
}

const machines: Partial<Record<EngineKind, Machine>> = {};

beforeAll(async () => {
  const made = async (kind: EngineKind, starting: Promise<TestEngine>) => {
    const daemon = await starting;
    machines[kind] = { daemon, engine: new DockerEngine(daemon.socketPath) };
    await buildTestImage(daemon, IMAGE);
    if (kind === 'podman') await buildTestImage(daemon, NOBODY, { changes: ['USER nobody'] });
  };
  await Promise.all([
    made('docker', startEngine({ ownFilter: true })),
    made('podman', startPodman({ ownFilter: true })),
  ]);
});
afterAll(async () => {
  for (const { daemon } of Object.values(machines)) await daemon.stop();
});

/** On each engine in turn. */
async function onEach(work: (machine: Machine, kind: EngineKind) => Promise<void>): Promise<void> {
  for (const [kind, machine] of Object.entries(machines)) await work(machine, kind as EngineKind);
}

/** As an agent makes it of its assignment, on a machine of 1 GiB. */
async function run(
  { engine }: Machine,
  name: string,
  changes: Partial<AssignedContainer> = {},
  defaults: Partial<ContainerDefaults> = {},
): Promise<string> {
  const container: AssignedContainer = {
    image: IMAGE,
    environment: {},
    needsSecrets: false,
    bounds: containerBounds({ ...PLATFORM_CONTAINER_DEFAULTS, ...defaults }, 2 ** 30, undefined),
    ports: [],
    labels: {},
    mounts: [],
    alias: name,
    ...changes,
  };
  const { network: _none, ...spec } = containerSpec({
    name,
    network: { name: 'none' },
    assigned: {
      id: `ins_${name}`,
      deployment: name,
      wanted: 'run',
      specHash: 'h',
      secretsVersion: 0,
      attempt: 1,
      once: {},
      container,
    },
    container,
    secrets: {},
    owner: { tenantId: 't', tenantSlug: 'shop', node: 'n1', installId: 'i' },
    heldFolder: '/nowhere',
    volume: () => {
      throw new Error('no volumes here');
    },
  });
  const id = await engine.createContainer(spec);
  await engine.start(id);
  return id;
}

async function output({ engine }: Machine, id: string, ...argv: string[]): Promise<string> {
  return (await collectOutput(await engine.exec(id, argv, { timeoutMs: 10_000 }), 1 << 20)).stdout;
}

async function ended({ engine }: Machine, id: string) {
  for (const deadline = performance.now() + 100_000; ; ) {
    const state = await engine.inspect(id);
    if (state.status === 'exited') return state;
    if (performance.now() > deadline) throw new Error(`still ${state.status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Bytes of the files below a folder whose path names the container and that look like a log. */
function logBytes(folder: string, id: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.includes(id) && /\.log(?:\.\d+)?$/.test(path))
    .map((path) => statSync(join(folder, path)).size)
    .reduce((sum, size) => sum + size, 0);
}

describe('containers', () => {
  attack('a container', 'rights of root, as the user of its image under Podman', async () => {
    const { podman } = machines;
    if (podman === undefined) throw new Error('no Podman');
    const id = await run(podman, 'nobody', { image: NOBODY });
    const status = await output(podman, id, 'cat', '/proc/self/status', '/proc/1/status');
    expect(status.match(/Cap(?:Inh|Prm|Eff|Amb):\s+0{16}/g)).toHaveLength(8);
    const tried = 'chown 0 /tmp 2>&1; echo x 2>&1 > /etc/passwd; id -u';
    expect(await output(podman, id, 'sh', '-c', tried)).toMatch(/not permitted[^]*denied[^]*65534/i);
    await podman.engine.remove(id, { force: true });
  });

  attack('a container', 'output until the disk of its node is full', async () => {
    const megabytes = inTier({ usual: 60, long: 200 });
    const line = 'x'.repeat(4000);
    const script = `yes ${line} | head -c ${megabytes}000000; echo; echo the end`;
    await onEach(async (machine, kind) => {
      const id = await run(machine, `talker-${kind}`, { command: ['sh', '-c', script] }, { logSize: '3M' });
      expect((await ended(machine, id)).exitCode).toBe(0);
      const kept = logBytes(machine.daemon.folder, id);
      expect([kind, kept > 10_000, kept < 3_300_000]).toEqual([kind, true, true]);
      const lines: string[] = [];
      for await (const { line: text } of machine.engine.logs(id, { follow: false })) lines.push(text);
      expect(lines.at(-1)).toBe('the end');
      // Docker's older files are read too.
      if (kind === 'docker') expect(lines.join('').length).toBeGreaterThan(1_500_000);
      await machine.engine.remove(id, { force: true });
    });
  });

  attack('a container', 'processes until its node can start none', async () => {
    await onEach(async (machine, kind) => {
      const bomb = 'while :; do sleep 60 & done';
      const id = await run(machine, `bomb-${kind}`, { command: ['sh', '-c', bomb] }, { pids: 64 });
      const neighbour = await run(machine, `calm-${kind}`);
      // It dies of it, or lives at its bound; the neighbour starts what it likes either way.
      for (let round = 0; round < 5; round += 1) {
        expect(await output(machine, neighbour, 'sh', '-c', 'for i in 1 2 3 4; do echo $i | cat; done')).toBe(
          '1\n2\n3\n4\n',
        );
        const state = await machine.engine.inspect(id);
        if (state.pid !== undefined && state.status === 'running') {
          const alive = readdirSync('/proc').filter((entry) => isOf(entry, state.pid ?? 0)).length;
          expect(alive).toBeLessThanOrEqual(64);
        }
      }
      for (const one of [id, neighbour]) await machine.engine.remove(one, { force: true });
    });
  });

  attack('a container', 'memory until its node has none, without a limit of its own', async () => {
    await onEach(async (machine, kind) => {
      const neighbour = await run(machine, `calm2-${kind}`, {}, { memory: '64Mi' });
      const hog = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=300M', 'count=1'];
      const id = await run(machine, `hog-${kind}`, { command: hog }, { memory: '64Mi' });
      const { exitCode } = await ended(machine, id);
      expect([kind, exitCode]).toEqual([kind, 137]);
      expect(await output(machine, neighbour, 'echo', 'well')).toBe('well\n');
      for (const one of [id, neighbour]) await machine.engine.remove(one, { force: true });
    });
  });
});

function isOf(entry: string, pid: number): boolean {
  if (!/^\d+$/.test(entry)) return false;
  try {
    return statSync(`/proc/${entry}/ns/pid`).ino === statSync(`/proc/${pid}/ns/pid`).ino;
  } catch {
    return false;
  }
}
