import { pushImage, startRegistry } from '../test/support/harness/registry.ts';
import { startServerProcess } from './support/server-process.ts';

/** 1,000 referenced paths in one tenant: the resources list (bar 50 ms) and one path's consumers (bar 5 ms).   node bench/secrets.ts [paths] */
const PATHS = Number(process.argv[2] ?? 1000);
const ROUNDS = 50;

function median(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2);
  return `p50 ${at(0.5)} ms  p99 ${at(0.99)} ms`;
}

const registry = await startRegistry();
const { reference } = await pushImage(registry, 'bench/web:1', {});
const server = await startServerProcess();
try {
  for (let index = 0; index < PATHS; index += 1) {
    await server.call('PUT', `/api/v1/secrets/resources/db-${index}`, {
      generate: { keys: ['password', 'user'] },
    });
  }
  for (let index = 0; index < PATHS / 10; index += 1) {
    const secrets = Array.from({ length: 10 }, (_, entry) => ({
      name: `DB${entry}`,
      vault_path: `resources/db-${index * 10 + entry}`,
      anchor: 'external',
      rotation: 'restart',
    }));
    const answer = await server.call('POST', '/api/v1/deployments', {
      name: `web-${index}`,
      image: reference,
      secrets,
    });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  }
  const measure = async (path: string): Promise<string> => {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      await server.call('GET', path);
      times.push(performance.now() - start);
    }
    return median(times);
  };
  process.stdout.write(
    `resources list, ${PATHS} paths   ${await measure('/api/v1/secrets/resources?limit=1000')}   bar 50 ms\n`,
  );
  process.stdout.write(
    `consumers of one path         ${await measure(`/api/v1/secrets/resources/db-${PATHS / 2}/consumers`)}   bar 5 ms\n`,
  );
} finally {
  await server.stop();
  await registry.stop();
}
