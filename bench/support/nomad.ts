import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/harness/free-port.ts';
import { type Peer, startPeer } from './peer.ts';

/** Where its program is; absent: it is not compared with. */
export const NOMAD = process.env['BENCH_NOMAD'];
const READY_MS = 60_000;

/** A job of so many containers, each as Berth's deployments of these benchmarks ask for them: for nothing in particular. */
export function jobSpec(name: string, image: string, count: number): object {
  const task = { Name: 'web', Driver: 'docker', Config: { image } };
  return {
    Job: {
      ID: name,
      Name: name,
      Type: 'service',
      Datacenters: ['*'],
      TaskGroups: [{ Name: 'web', Count: count, Tasks: [task] }],
    },
  };
}

/** One server of its own without a client, on loopback: its usual durability, a log that is synced before an answer. */
export async function startNomad(binary: string): Promise<Peer> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-nomad-'));
  const [http, rpc, serf] = [await freePort(), await freePort(), await freePort()];
  const config = {
    data_dir: join(dir, 'data'),
    bind_addr: '127.0.0.1',
    disable_update_check: true,
    log_level: 'WARN',
    server: { enabled: true, bootstrap_expect: 1 },
    ports: { http, rpc, serf },
    // Without it, it refuses to start on loopback.
    advertise: { http: '127.0.0.1', rpc: '127.0.0.1', serf: '127.0.0.1' },
    limits: { http_max_conns_per_client: 0 },
  };
  writeFileSync(join(dir, 'nomad.json'), JSON.stringify(config));
  const url = `http://127.0.0.1:${http}`;
  const hasLeader = async (): Promise<boolean> =>
    fetch(`${url}/v1/status/leader`).then(
      async (answer) => /"\S+:\d+"/.test(await answer.text()),
      () => false,
    );
  const args = ['agent', '-config', join(dir, 'nomad.json')];
  return startPeer({ binary, args, url, dir, isReady: hasLeader, readyMs: READY_MS });
}
