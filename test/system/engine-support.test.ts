import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ip } from '../support/harness/engine-network.ts';

const SUPPORT = new URL('../support/harness/engine.ts', import.meta.url).href;
const CLIENT = new URL('../../src/agent/engine/docker-engine.ts', import.meta.url).href;

const LEAVE = `
  import { startEngine, buildTestImage } from '${SUPPORT}';
  import { DockerEngine } from '${CLIENT}';
  const daemon = await startEngine({ liveRestore: true });
  await buildTestImage(daemon, 'berth.test/box:1');
  const engine = new DockerEngine(daemon.socketPath);
  const spec = { name: 'left', image: 'berth.test/box:1', env: [], labels: {}, ownLabels: {}, restart: { name: 'no' }, mounts: [], ports: [] };
  await engine.start(await engine.createContainer(spec));
  console.log(daemon.folder + ' ' + daemon.namespace.name);
  process.kill(process.pid, 'SIGKILL');
`;
const SWEEP = `
  import { startEngine } from '${SUPPORT}';
  await (await startEngine({ network: 'none' })).stop();
`;

async function runScript(
  script: string,
): Promise<{ readonly output: string; readonly ended: readonly unknown[] }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = await once(child, 'close');
  return { output, ended };
}

function processesNaming(folder: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`${folder}/`);
    } catch {
      return false;
    }
  });
}

it('removes what a killed test run left behind', async () => {
  const left = await runScript(LEAVE);
  expect(left.ended).toEqual([null, 'SIGKILL']);
  const [folder = '', namespace = ''] = left.output.trim().split(' ');
  expect(existsSync(folder)).toBe(true);
  expect(processesNaming(folder).length).toBeGreaterThanOrEqual(3);
  expect(ip('netns', 'list')).toContain(namespace);

  expect((await runScript(SWEEP)).ended).toEqual([0, null]);
  expect(existsSync(folder)).toBe(false);
  expect(processesNaming(folder)).toEqual([]);
  expect(ip('netns', 'list')).not.toContain(namespace);
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(folder);
});
