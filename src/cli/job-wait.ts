import { type Client, named } from './client.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { textOf } from './fields.ts';
import type { Job, JobRun } from './records.ts';
import { spanText } from './table.ts';
import type { Session } from './session.ts';
import { watched } from './watching.ts';

const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Cancelled']);

/** The run of that id; without one the newest. */
function runOf(job: Job, id: string | undefined): JobRun | undefined {
  const runs = job.status?.runs ?? [];
  return id === undefined ? runs[0] : runs.find((run) => textOf(run.id) === id);
}

/** Waits until a run has ended; `run` absent: the newest, which may still be to come. */
export async function waitForRun(
  session: Session,
  client: Client,
  name: string,
  run: string | undefined,
  timeoutMs: number,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  return watched(session, name, async (step) => {
    const found = runOf(await client.record('GET /api/v1/jobs/{name}', named(name)), run);
    const state = found === undefined ? 'Pending' : textOf(found.state);
    const text = found === undefined ? 'not reconciled yet' : textOf(found.message);
    if (state === 'Succeeded') {
      step.done(text);
      return EXIT.ok;
    }
    if (ENDED.has(state) || performance.now() >= deadline) {
      step.fail(ENDED.has(state) ? `${state}: ${text}` : `not ended within ${spanText(timeoutMs)}: ${text}`);
      session.terminal.err(`  ${session.next(`berth job logs ${name}`)}\n`);
      return EXIT.notHealthy;
    }
    return text;
  });
}
