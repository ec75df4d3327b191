import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BOOTSTRAP } from '../test/support/harness/control-plane.ts';
import { startFakeRegistry } from '../test/support/harness/fake-registry.ts';
import { PlaneProcess } from '../test/support/harness/plane-process.ts';
import { explainedIn, readReport } from './outside-report.ts';
import { ROOT } from './run.ts';

/**
 * Tools that are not ours, against a control plane of their own; docs/outside-checks.md says what they are and what is expected of them.
 *   node scripts/outside-checks.ts                            prints addresses, tokens and commands, and stays until it is interrupted
 *   node scripts/outside-checks.ts <schemathesis> [s] [seed]  runs it as three callers, s seconds each, and holds what it says to the list
 */
const PAGE = join(ROOT, 'docs/outside-checks.md');
const CALLERS = ['platform', 'tenant', 'viewer'] as const;
const [program, seconds = '120', seed = String(Date.now() % 1e6)] = process.argv.slice(2);

async function start() {
  const registry = await startFakeRegistry();
  const folder = mkdtempSync(join(tmpdir(), 'berth-outside-'));
  const plane = await new PlaneProcess({
    BERTH_RATE_LIMIT_PER_SECOND: '1000000',
    BERTH_RATE_LIMIT_BURST: '1000000',
    BERTH_REGISTRIES_ALLOW_PRIVATE: `http://${registry.host}`,
  }).start();
  const image = `${registry.host}/ok/web:1.0.0`;
  const { id, token, call } = await plane.tenant('shop');
  await call('POST', '/api/v1/deployments', { name: 'web', image });
  return {
    url: plane.url,
    image,
    folder,
    tenantId: id,
    tokens: { platform: BOOTSTRAP, tenant: token, viewer: await plane.token('shop', 'viewer') },
    end: async (): Promise<void> => {
      await plane.dispose();
      await registry.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Stage = Awaited<ReturnType<typeof start>>;

function commandOf({ url, tenantId, tokens }: Stage, caller: keyof Stage['tokens'], report: string) {
  const options = {
    checks: ['all'],
    'max-time': [seconds],
    seed: [seed],
    // A token that revokes itself has nothing more to find.
    'exclude-operation-id': ['deleteTokensId', 'deleteSession'],
    header: [`Authorization: Bearer ${tokens[caller]}`, `X-Tenant-ID: ${tenantId}`],
    report: ['ndjson'],
    'report-dir': [report],
  };
  const words = Object.entries(options).flatMap(([name, values]) =>
    values.flatMap((value) => [`--${name}`, value]),
  );
  return ['run', `${url}/openapi.json`, '--continue-on-failure', '--no-shrink', ...words];
}

if (program === undefined) {
  const stage = await start();
  const document = join(stage.folder, 'openapi.json');
  writeFileSync(document, await (await fetch(`${stage.url}/openapi.json`)).text());
  console.log(`document: ${document}\naddress: ${stage.url}\nan image that is there: ${stage.image}`);
  for (const caller of CALLERS) {
    const words = commandOf(stage, caller, `report-${caller}`);
    console.log(
      `\n# ${caller}\nschemathesis ${words.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ')}`,
    );
  }
  process.once('SIGINT', () => void stage.end());
  process.once('SIGTERM', () => void stage.end());
} else {
  const explained = explainedIn(PAGE);
  const unused = new Set(explained.rows);
  console.log(`seed: ${seed}`);
  for (const caller of CALLERS) {
    // Of its own for each: what one of them deletes, the next would miss.
    const stage = await start();
    try {
      const report = join(stage.folder, 'report');
      await once(
        spawn(program, commandOf(stage, caller, report), { stdio: 'ignore', cwd: stage.folder }),
        'exit',
      );
      const { statuses, failures } = readReport(report);
      const open = failures.filter((one) => {
        const row = explained.rowOf(one);
        if (row !== undefined) unused.delete(row);
        return row === undefined;
      });
      const answers = [...statuses].map(([status, count]) => `${count} of ${status}xx`).join(', ');
      console.log(`${caller}: ${answers}; ${failures.length} failures, not explained: ${open.length}`);
      const lines = open.map(
        ({ operation, check, code, field, why }) => `  ${operation}: ${check} ${code} ${field}: ${why}`,
      );
      for (const line of new Set(lines)) console.log(line);
      if (open.length > 0) process.exitCode = 1;
    } finally {
      await stage.end();
    }
  }
  // One run does not meet everything: a row is no longer needed when long runs with several seeds leave it out.
  console.log(`rows that explained nothing: ${unused.size}`);
  for (const { check, code, field } of unused) console.log(`  ${check} ${code} ${field}`);
}
