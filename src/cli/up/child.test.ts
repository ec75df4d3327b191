import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { awaitChild, startChild } from './child.ts';
import { prepareWorkspace, workspaceAt } from './workspace.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-child-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { signal } = new AbortController();

it.each([
  ['exec sleep 60', 'did not get ready within 0 s', 'nothing yet'],
  ['echo half-way; exec sleep 60', 'did not get ready within 0 s', 'half-way'],
  ['echo no port; exit 3', 'ended at once', 'no port'],
])('says of %j why it is not ready, and what it wrote', async (script, message, line) => {
  const workspace = workspaceAt(join(folder, String(script.length)));
  prepareWorkspace(workspace);
  const child = startChild(workspace, { name: 'part', command: '/bin/sh', args: ['-c', script] });
  try {
    await eventually(
      'it has written, or ended',
      () =>
        script.startsWith('exec') || (script.includes('exit') ? child.ended() : child.lastWords().length > 0),
      (done) => done,
    );
    const never = awaitChild(child, async () => false, { deadlineMs: 0, what: 'it', signal });
    await expect(never).rejects.toMatchObject({
      message: `it ${message}`,
      advice: [expect.stringContaining(line), `log: ${child.logFile}`],
    });
  } finally {
    await child.stop();
  }
});
