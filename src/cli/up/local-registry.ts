import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { awaitChild, type Child, startChild } from './child.ts';
import type { Workspace } from './workspace.ts';
import { need, REGISTRY } from './programs.ts';

const START_MS = 20_000;

/** Debian's registry on loopback; images stay in the data folder. */
export async function startRegistry(
  workspace: Workspace,
  port: number,
  signal: AbortSignal,
): Promise<{ readonly host: string; readonly child: Child; readonly again: () => Child }> {
  const host = `127.0.0.1:${port}`;
  const folder = join(workspace.folder, 'registry');
  mkdirSync(folder, { recursive: true });
  const configFile = join(folder, 'config.yml');
  writeFileSync(
    configFile,
    [
      'version: 0.1',
      'log: { level: warn, accesslog: { disabled: true } }',
      `storage: { filesystem: { rootdirectory: ${JSON.stringify(join(folder, 'data'))} }, delete: { enabled: true } }`,
      `http: { addr: ${JSON.stringify(host)} }`,
      '',
    ].join('\n'),
  );
  const again = (): Child =>
    startChild(workspace, {
      name: 'registry',
      command: need(REGISTRY, workspace),
      args: ['serve', configFile],
    });
  const child = again();
  const answers = (): Promise<boolean> =>
    fetch(`http://${host}/v2/`, { signal: AbortSignal.timeout(1000) }).then(
      (answer) => answer.ok,
      () => false,
    );
  try {
    await awaitChild(child, answers, { deadlineMs: START_MS, what: 'the local registry', signal });
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { host, child, again };
}
