import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { AssignedInstance } from '../../src/core/contract/agent-protocol.ts';
import { AgentBench, instance, TEST_IMAGE } from '../support/agent.ts';
import { attack } from '../support/attack.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/engine.ts';
import { startEngineProxy } from '../support/engine-proxy.ts';

let daemon: TestEngine;
let folder: string;
/** Of the host, no business of any container. */
let victim: string;

beforeAll(async () => {
  daemon = await startEngine();
  await buildTestImage(daemon, TEST_IMAGE);
});
afterAll(() => daemon.stop());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-binds-'));
  victim = join(folder, 'victim');
  mkdirSync(victim);
  writeFileSync(join(victim, 'secret'), 'of the host');
  mkdirSync(place('a/b'), { recursive: true });
  return () => rmSync(folder, { recursive: true, force: true });
});

const place = (path: string): string => join(folder, 'root/shop', path);

function bound(id: string, path: string, command: string): AssignedInstance {
  const mount = { volumeId: `vol_${id}`, kind: 'bind', source: place(path), target: '/b' } as const;
  const container = { command: ['sh', '-c', command], mounts: [{ ...mount, readOnly: false }] };
  return instance(id, container, { deployment: id });
}

/** Writes where it is, tells what it can read, and ends after a moment. */
const OWN = 'echo here >> /b/owned; cat /b/secret 2>/dev/null && cp /b/secret /b/seen; sleep 0.5';

/** Nothing of what a container did may have reached it. */
const untouched = (): readonly string[] => readdirSync(victim).toSorted();

function swapFor(path: string): void {
  renameSync(path, `${path}.aside`);
  symlinkSync(victim, path);
}

const start = async (socketPath?: string): Promise<AgentBench> =>
  await AgentBench.start(daemon, [`--bind-root=${join(folder, 'root')}`], socketPath);

attack(
  'deployer, where --bind-root is set',
  'nested binds: one container swaps the folder of another for a link to the host',
  async () => {
    await using bench = await start();
    const { plane } = bench;
    const swap = `while ! test -e /b/b/owned; do sleep 0.1; done; mv /b/b /b/old; ln -s ${victim} /b/b; sleep 999`;
    plane.assign([bound('outer', 'a', swap)]);
    await plane.untilPhase('outer', 'running');
    plane.assign([bound('outer', 'a', swap), bound('inner', 'a/b', OWN)]);
    await plane
      .until('refused, or at the host', () => {
        if (untouched().length > 1) return true;
        const { phase, reason } = plane.observations.get('inner') ?? {};
        return phase === 'failed' && reason === 'bind_not_allowed';
      })
      .finally(() => expect(untouched()).toEqual(['secret']));
    expect(plane.observations.get('inner')?.message).toContain(place('a'));
    expect((await bench.engine.list({ all: true })).map(({ name }) => name)).toEqual(['outer']);
  },
);

attack(
  'deployer, where --bind-root is set',
  'a link in place of the bound folder when its container is started again',
  async () => {
    await using bench = await start();
    const { plane } = bench;
    plane.assign([bound('web', 'a/b', OWN)]);
    await expect.poll(() => existsSync(join(place('a/b'), 'owned')), { timeout: 20_000 }).toBe(true);
    swapFor(place('a/b'));
    await plane
      .until('refused, or at the host', () => {
        return untouched().length > 1 || plane.observations.get('web')?.reason === 'bind_not_allowed';
      })
      .finally(() => expect(untouched()).toEqual(['secret']));
  },
);

attack(
  'deployer, where --bind-root is set',
  'a link in place of the bound folder between the check and the start',
  async () => {
    let swapped = false;
    await using proxy = await startEngineProxy({
      socketPath: daemon.socketPath,
      fateOf: (call) => {
        if (call === 'POST /containers/{id}/start' && !swapped) {
          swapped = true;
          swapFor(place('a/b'));
        }
        return 'pass';
      },
      onCrash: () => {},
    });
    await using bench = await start(proxy.socketPath);
    bench.plane.assign([bound('web', 'a/b', OWN)]);
    const held = join(`${place('a/b')}.aside`, 'owned');
    await expect
      .poll(() => existsSync(held) || untouched().length > 1, { timeout: 20_000 })
      .toBe(true)
      .finally(() => expect(untouched()).toEqual(['secret']));
    // It was given the folder that was checked, wherever that is now.
    expect(existsSync(held)).toBe(true);
  },
);
