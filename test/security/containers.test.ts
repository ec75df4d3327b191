import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { ContainerSpec } from '../../src/agent/engine/container.ts';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import { collectOutput } from '../../src/agent/engine/exec-session.ts';
import { attack } from '../support/attack.ts';
import { buildTestImage, startPodman, type TestEngine } from '../support/engine.ts';

const IMAGE = 'berth.test/nobody:1';

let daemon: TestEngine;
let engine: DockerEngine;

beforeAll(async () => {
  daemon = await startPodman();
  engine = new DockerEngine(daemon.socketPath);
  await buildTestImage(daemon, IMAGE, { changes: ['USER nobody'] });
});
afterAll(() => daemon.stop());

async function run(name: string, changes: Partial<ContainerSpec> = {}): Promise<string> {
  const plain = { image: IMAGE, env: [], labels: {}, ownLabels: {}, mounts: [], ports: [] };
  const id = await engine.createContainer({ name, ...plain, restart: { name: 'no' }, ...changes });
  await engine.start(id);
  return id;
}

async function output(id: string, ...argv: string[]): Promise<string> {
  return (await collectOutput(await engine.exec(id, argv, { timeoutMs: 10_000 }), 1 << 20)).stdout;
}

describe('containers on Podman', () => {
  attack('a container', 'rights of root, as the user of its image under Podman', async () => {
    const id = await run('nobody');
    const status = await output(id, 'cat', '/proc/self/status', '/proc/1/status');
    expect(status.match(/Cap(?:Inh|Prm|Eff|Amb):\s+0{16}/g)).toHaveLength(8);
    expect(await output(id, 'sh', '-c', 'chown 0 /tmp 2>&1; echo x 2>&1 > /etc/passwd; id -u')).toMatch(
      /not permitted[^]*Permission denied[^]*65534/i,
    );
  });
});
