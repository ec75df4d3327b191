import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/harness/free-port.ts';

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

export interface Nomad {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** One server of its own without a client, on loopback: its usual durability, a log that is synced before an answer. */
export async function startNomad(binary: string): Promise<Nomad> {
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
  const child: ChildProcess = spawn(binary, ['agent', '-config', join(dir, 'nomad.json')], {
    stdio: 'ignore',
  });
  const killOnExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killOnExit);
  const url = `http://127.0.0.1:${http}`;
  const leader = async (): Promise<string> =>
    fetch(`${url}/v1/status/leader`).then(
      (answer) => answer.text(),
      () => '',
    );
  for (const until = performance.now() + READY_MS; !/"\S+:\d+"/.test(await leader()); ) {
    if (child.exitCode !== null || performance.now() > until) throw new Error(`${binary} has no leader`);
    await delay(100);
  }
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      process.off('exit', killOnExit);
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
