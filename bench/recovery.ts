import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { COMMAND, percentile, startOneNode, until } from './support/one-node.ts';
import { type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * The control plane is killed and started again at once: until its API answers, and until a deployment that is created then runs on a
 * node that had a session before.   node bench/recovery.ts [rounds]
 */
const ROUNDS = Number(process.argv[2] ?? 8);
const LOOK_MS = 5;
const SESSION_MS = 3000;

const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
const node = await startOneNode({ dir });
let server: ServerProcess = node.server;
try {
  const answered: number[] = [];
  const running: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // A session that ended sooner would count as a failed try.
    await delay(SESSION_MS);
    const begun = performance.now();
    process.kill(server.pid, 'SIGKILL');
    server = await startServerProcess(node.serverOptions);
    const name = `one-${round}`;
    const created = await server.call('POST', '/api/v1/deployments', {
      name,
      image: node.image,
      command: COMMAND,
    });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    answered.push(performance.now() - begun);
    await until(
      async () => {
        const { body } = await server.call('GET', `/api/v1/deployments/${name}`);
        return (body as { status: { running: number } }).status.running === 1;
      },
      name,
      LOOK_MS,
    );
    running.push(performance.now() - begun);
    await server.call('DELETE', `/api/v1/deployments/${name}`);
    await node.emptied();
  }
  const show = (times: readonly number[]): string =>
    `p50 ${percentile(times, 0.5).toFixed(0)} ms, slowest ${Math.max(...times).toFixed(0)} ms`;
  process.stdout.write(
    `killed and started again, ${ROUNDS} rounds: a create answered after ${show(answered)}; its container running after ${show(running)}\n`,
  );
} finally {
  await node.stop();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
