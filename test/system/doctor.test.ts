import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';

const BERTH = join(import.meta.dirname, '../../bin/berth');
const folder = mkdtempSync(join(tmpdir(), 'berth-doctor-'));
const full = join(folder, 'full');
const socket = join(folder, 'engine.sock');
/** Answers as an engine does. */
const engine = createServer((connection) => {
  connection.once('data', () => connection.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK'));
});

let etcd: Etcd;
let plane: PlaneProcess;
let token = '';

interface Outcome {
  readonly status: number;
  readonly out: string;
}

function doctor(changes: Readonly<Record<string, string>> = {}, cwd = folder): Promise<Outcome> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    NO_COLOR: '1',
    DOCKER_HOST: `unix://${socket}`,
    BERTH_CLI_SERVER: plane.url,
    BERTH_CLI_TOKEN: token,
    ...changes,
  };
  return new Promise((resolve) => {
    execFile(BERTH, ['doctor'], { cwd, env }, (error, out) => {
      resolve({ status: error === null ? 0 : Number(error.code), out });
    });
  });
}

/** The line of a check with what to do about it. */
function finding(out: string, name: string): string {
  return new RegExp(`^. ${name} .*(?:\\n {19}.*)*`, 'm').exec(out)?.[0] ?? `no line of ${name} in:\n${out}`;
}

beforeAll(async () => {
  ensurePackages(['faketime', 'etcd-server']);
  etcd = await startEtcd();
  plane = await new PlaneProcess({
    BERTH_STORE_KIND: 'etcd',
    BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(','),
  }).start();
  token = await plane.token('platform', 'platform-admin');
  engine.listen(socket);
  await once(engine, 'listening');
  mkdirSync(full);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', full]);
});

afterAll(async () => {
  await plane.dispose();
  await etcd.stop();
  engine.close();
  execFileSync('umount', [full]);
  rmSync(folder, { recursive: true, force: true });
});

describe('berth doctor', () => {
  it('finds what is good, and a tenant without nodes', async () => {
    const { status, out } = await doctor();
    for (const name of ['control plane', 'token', 'store', 'secrets store', 'clocks', 'engine', 'disk space'])
      expect(finding(out, name)).toMatch(/^✔/);
    expect(finding(out, 'store')).toContain('etcd, connected');
    expect(finding(out, 'nodes')).toMatch(/^✘ .*none is enrolled.*\n.*berth node token/);
    expect({ status, out }).toMatchObject({ status: 1, out: expect.stringContaining('1 problem\n') });
  });

  it('finds what an agent could not set up', async () => {
    const shop = await plane.tenant('shop');
    const flow = new NodeFlow(plane);
    try {
      const problems = [
        'no rule could be set',
        'copies of volumes cannot be received by rsync',
        "this node has no part in the tenant's network: nft is not installed",
      ];
      await flow.connected('berlin-1', shop, undefined, { problems });
      const { status, out } = await doctor({ BERTH_CLI_TOKEN: shop.token });
      expect(finding(out, 'nodes')).toMatch(
        /^✘ .*1 ready, but berlin-1: no rule could be set; copies of volumes .*\n.*berth describe node/,
      );
      expect(finding(out, 'network')).toMatch(
        /^✘ .*0 of 1 nodes take part\n.*berlin-1: nft is not installed; .*nftables.*\n.*berth network show/,
      );
      expect(finding(out, 'mesh programs')).not.toContain('no line of');
      expect(status).toBe(1);
    } finally {
      flow.close();
    }
  });

  it('finds a token that is none', async () => {
    const { out } = await doctor({ BERTH_CLI_TOKEN: 'not-a-token-of-this-control-plane' });
    expect(finding(out, 'token')).toMatch(/^✘ .*unauthenticated.*\n.*berth login/);
    expect(finding(out, 'local registry')).toMatch(/^· .*not checked: unauthenticated/);
  });

  it('finds a clock that is wrong', async () => {
    const library = execFileSync('sh', ['-c', 'ls /usr/lib/*/faketime/libfaketime.so.1'], {
      encoding: 'utf8',
    }).trim();
    const { out } = await doctor({ LD_PRELOAD: library, FAKETIME: '-2h', FAKETIME_DONT_FAKE_MONOTONIC: '1' });
    expect(finding(out, 'clocks')).toMatch(/^✘ .*differ by 7\d\d\d s.*\n.*keep time/);
  });

  it('finds an engine that is away, and one that does not answer', async () => {
    const away = await doctor({ DOCKER_HOST: `unix://${folder}/nowhere.sock` });
    expect(finding(away.out, 'engine')).toMatch(/^✘ .*there is no such socket.*\n.*DOCKER_HOST/);
    const dead = join(folder, 'dead.sock');
    // Whoever listened there was killed.
    const listen = `require('net').createServer().listen('${dead}', () => process.kill(process.pid, 'SIGKILL'))`;
    expect(() => execFileSync(process.execPath, ['-e', listen])).toThrow();
    const silent = await doctor({ DOCKER_HOST: `unix://${dead}` });
    expect(finding(silent.out, 'engine')).toMatch(/^✘ .*ECONNREFUSED.*\n.*Is the engine running/);
  });

  it('finds a disk that is nearly full', async () => {
    expect(finding((await doctor({}, full)).out, 'disk space')).toMatch(
      /^✘ .*1 MiB free.*\n.*remove what is not used/,
    );
  });

  it('finds a local registry that does not answer', async () => {
    await plane.admin('POST', '/api/v1/deployments', {
      name: 'web',
      image: '127.0.0.1:1/shop/web:1',
      replicas: 0,
    });
    expect(finding((await doctor()).out, 'local registry')).toMatch(
      /^✘ .*127\.0\.0\.1:1 does not answer.*\n.*berth up/,
    );
  });

  it('finds a store that is away, and that it is back', async () => {
    const [member] = etcd.members;
    await member?.kill();
    const away = await eventually(
      'the store is found away',
      () => doctor(),
      ({ out }) => finding(out, 'store').startsWith('✘'),
    );
    expect(finding(away.out, 'store')).toMatch(/^✘ .*etcd: .*\n.*members of etcd/);
    expect(away.status).toBe(1);
    await member?.restart();
    await eventually(
      'the store is found again',
      () => doctor(),
      ({ out }) => finding(out, 'store').startsWith('✔'),
    );
  });

  it('finds a secrets store that is sealed', async () => {
    await plane.admin('PUT', '/api/v1/secrets/deployments/web', { generate: { keys: ['key'] } });
    await plane.end('SIGTERM');
    rmSync(join(plane.dataDir, 'keys/root.key'));
    await plane.start();
    expect(finding((await doctor()).out, 'secrets store')).toMatch(/^✘ .*sealed.*\n.*root key/);
  });

  it('finds a control plane that is away, and checks the rest', async () => {
    await plane.end('SIGTERM');
    const { status, out } = await doctor();
    expect(finding(out, 'control plane')).toMatch(/^✘ .*nothing listens.*\n.*berth up/);
    expect(finding(out, 'store')).toMatch(/^· .*not checked/);
    expect(finding(out, 'engine')).toMatch(/^✔/);
    // A neighbour on this machine may have the ports of the mesh.
    const problems = out.match(/^✘/gm)?.length ?? 0;
    const told = problems === 1 ? '1 problem\n' : `${problems} problems\n`;
    expect({ status, out }).toMatchObject({ status: 1, out: expect.stringContaining(told) });
  });
});
