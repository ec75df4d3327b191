import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { cpuSeconds, rssMiB } from './support/process-cost.ts';
import { startServerProcess } from './support/server-process.ts';
import { until } from './support/one-node.ts';
import { copyDeployment } from './support/stored-copies.ts';

/**
 * A control plane that starts on a store with many deployments: until it says that it is ready, and until it has answered a list.
 * One deployment is made by a request and settled by the controllers; the others are its records under other names.
 * The last one is left alone for a while: its controllers reconcile everything once.
 *   node bench/restart.ts [deployments] [starts] [seconds]
 */
const DEPLOYMENTS = Number(process.argv[2] ?? 100_000);
const STARTS = Number(process.argv[3] ?? 3);
const SECONDS = Number(process.argv[4] ?? 60);

const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
const registry = await startRegistry();
try {
  const { reference } = await pushImage(registry, 'bench/web:1', {});
  const first = await startServerProcess({ dir });
  const created = await first.call('POST', '/api/v1/deployments', { name: 'template', image: reference });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
  await until(
    async () => {
      const { body } = await first.call('GET', '/api/v1/deployments/template');
      return (body as { status?: { phase?: string } }).status?.phase === 'Pending';
    },
    'the status of the deployment',
    20,
  );
  await first.stop();
  const { records, bytes } = await copyDeployment(join(dir, 'store'), 'template', DEPLOYMENTS - 1);
  console.log(
    `${DEPLOYMENTS.toLocaleString('en')} deployments, ${records.toLocaleString('en')} records of ${(bytes / 2 ** 20).toFixed(0)} MiB, file of ${(statSync(join(dir, 'store', 'berth.db')).size / 2 ** 20).toFixed(0)} MiB`,
  );
  for (let start = 1; start <= STARTS; start += 1) {
    const begun = performance.now();
    const server = await startServerProcess({ dir });
    const readyMs = performance.now() - begun;
    const ready = await fetch(`${server.url}/readyz`);
    const list = await server.call('GET', '/api/v1/deployments?limit=100');
    const listedMs = performance.now() - begun;
    if (ready.status !== 200 || (list.body as readonly unknown[]).length !== Math.min(100, DEPLOYMENTS))
      throw new Error(`${ready.status}, ${JSON.stringify(list.body).slice(0, 200)}`);
    console.log(
      `start ${start}: ready in ${(readyMs / 1000).toFixed(2)} s, first list answered after ${(listedMs / 1000).toFixed(2)} s, ${cpuSeconds(server.pid).toFixed(2)} s of processor time, RSS ${rssMiB(server.pid).toFixed(0)} MiB`,
    );
    if (start === STARTS) {
      await pause(SECONDS * 1000);
      console.log(`${SECONDS} s later: RSS ${rssMiB(server.pid).toFixed(0)} MiB`);
    }
    await server.stop();
  }
} finally {
  await registry.stop();
  rmSync(dir, { recursive: true, force: true });
}
