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
import type { AssignedInstance } from '../../src/core/protocol/agent-protocol.ts';
import { AgentBench, instance, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { attack } from '../support/attack.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { startEngineProxy } from '../support/harness/engine-proxy.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-binds-'));
let daemon: TestEngine;
let proxy: Awaited<ReturnType<typeof startEngineProxy>>;
/** One agent for all of them: what an attack leaves behind is in nobody's way. */
let bench: AgentBench;
let round = 0;
/** Of the host, no business of any container. */
let victim: string;
let beforeStart: (() => void) | undefined;

beforeAll(async () => {
  daemon = await startEngine({ ownFilter: true });
  await buildTestImage(daemon, TEST_IMAGE);
  proxy = await startEngineProxy({
    socketPath: daemon.socketPath,
    fateOf: (call) => {
      if (call === 'POST /containers/{id}/start') beforeStart?.();
      return 'pass';
    },
    onCrash: () => {},
  });
  mkdirSync(join(folder, 'root'));
  bench = await AgentBench.start(daemon, [`--bind-root=${join(folder, 'root')}`], proxy.socketPath);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  round += 1;
  beforeStart = undefined;
  victim = join(folder, `victim${round}`);
  mkdirSync(victim);
  writeFileSync(join(victim, 'secret'), 'of the host');
  mkdirSync(place('a/b'), { recursive: true });
});

const place = (path: string): string => join(folder, 'root/shop', String(round), path);
const named = (name: string): string => `${name}${round}`;

function bound(name: string, path: string, command: string): AssignedInstance {
  const id = named(name);
  const mount = { volumeId: `vol_${id}`, kind: 'bind', source: place(path), target: '/b' } as const;
  const container = { command: ['sh', '-c', command], mounts: [{ ...mount, readOnly: false }] };
  return instance(id, container, { deployment: id });
}

const reasonOf = (name: string): string | undefined => bench.plane.observations.get(named(name))?.reason;

/** Writes where it is, tells what it can read, and ends after a moment. */
const OWN = 'echo here >> /b/owned; cat /b/secret 2>/dev/null && cp /b/secret /b/seen; sleep 0.2';

/** Nothing of what a container did may have reached it. */
const untouched = (): readonly string[] => readdirSync(victim).toSorted();

function swapFor(path: string): void {
  renameSync(path, `${path}.aside`);
  symlinkSync(victim, path);
}

attack(
  'deployer, where --bind-root is set',
  'nested binds: one container swaps the folder of another for a link to the host',
  async () => {
    const { plane, engine } = bench;
    const swap = `while ! test -e /b/b/owned; do sleep 0.1; done; mv /b/b /b/old; ln -s ${victim} /b/b; sleep 999`;
    plane.assign([bound('outer', 'a', swap)]);
    await plane.untilPhase(named('outer'), 'running');
    plane.assign([bound('outer', 'a', swap), bound('inner', 'a/b', OWN)]);
    await plane
      .until('refused, or at the host', () => {
        return untouched().length > 1 || reasonOf('inner') === 'bind_not_allowed';
      })
      .finally(() => expect(untouched()).toEqual(['secret']));
    expect(plane.observations.get(named('inner'))).toMatchObject({
      phase: 'failed',
      message: expect.stringContaining(place('a')),
    });
    const names = (await engine.list({ all: true })).map(({ name }) => name);
    expect(names).toContain(named('outer'));
    expect(names).not.toContain(named('inner'));
  },
);

attack(
  'deployer, where --bind-root is set',
  'a link in place of the bound folder when its container is started again',
  async () => {
    const { plane } = bench;
    plane.assign([bound('web', 'a/b', OWN)]);
    await expect.poll(() => existsSync(join(place('a/b'), 'owned')), { timeout: 20_000 }).toBe(true);
    swapFor(place('a/b'));
    await plane
      .until(
        'refused, or at the host',
        () => untouched().length > 1 || reasonOf('web') === 'bind_not_allowed',
      )
      .finally(() => expect(untouched()).toEqual(['secret']));
  },
);

attack(
  'deployer, where --bind-root is set',
  'a link in place of the bound folder between the check and the start',
  async () => {
    beforeStart = () => {
      beforeStart = undefined;
      swapFor(place('a/b'));
    };
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
