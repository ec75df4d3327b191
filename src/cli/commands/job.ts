import { type Client, named } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { waitForRun } from '../job-wait.ts';
import { deleteCommand, getCommand, listCommand } from '../record-commands.ts';
import { jobLines } from '../log-source.ts';
import { timeoutOf } from '../waiting.ts';
import { wholeNumber } from './run.ts';

const NAME = { term: '<name>', description: 'The job.', names: 'jobs' } as const;

const list = listCommand('jobs', {
  summary: 'List jobs',
  description: ['Lists the jobs of the tenant with their last run and the time of the next.'],
  examples: [{ line: 'berth job list', what: 'every job' }],
});

const get = getCommand('jobs', NAME, {
  summary: 'Print one job',
  description: ['Prints one job; berth describe job shows it with its runs.'],
  examples: [{ line: 'berth job get nightly-report -o yaml', what: 'with every run that is kept' }],
});

const run: Subcommand = {
  name: 'run',
  summary: 'Run a job now, and wait for its end',
  description: [
    'Starts a run beside the schedule, if the job has one, and waits until it has ended. Ends with status 4 when it failed or did not end in time; the run goes on without this program.',
  ],
  parameters: [NAME],
  options: [
    { flags: '--no-wait', description: 'End as soon as the run is ordered.' },
    { flags: '--timeout <duration>', description: 'How long to wait for its end.', default: '1h' },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth job run nightly-report', what: 'now, and wait' },
    { line: 'berth job run nightly-report --no-wait', what: 'only order it' },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const timeoutMs = timeoutOf(options, '1h');
    const client = session.client(options);
    const ordered = await client.record('POST /api/v1/jobs/{name}/run', named(name));
    const id = textOf(ordered.run);
    session.terminal.out(`${id}\n`);
    return options.unlessDenied('wait') ? waitForRun(session, client, name, id, timeoutMs) : EXIT.ok;
  },
};

const logs: Subcommand = {
  name: 'logs',
  summary: 'Print what a run wrote',
  description: [
    'Prints what a run wrote to standard output and standard error: live while it runs, the kept end of it afterwards. Control characters are not passed on to your terminal.',
  ],
  parameters: [NAME],
  options: [
    { flags: '-f, --follow', description: 'Stay until the attempt has ended. Ctrl-C ends it.' },
    { flags: '--run <id>', description: 'This run instead of the newest (berth describe job NAME).' },
    { flags: '--attempt <n>', description: 'This attempt instead of the newest.' },
    { flags: '--previous', description: 'Of the newest attempt that failed, of whichever run.' },
    { flags: '--tail <n>', description: 'Only the last n lines.' },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth job logs nightly-report', what: 'of the newest run' },
    { line: 'berth job logs nightly-report --attempt 1', what: 'why the first attempt failed' },
    { line: 'berth job logs nightly-report --previous', what: 'why it failed last' },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const tail = options.text('tail');
    const attempt = options.text('attempt');
    const run = options.text('run');
    let printed = 0;
    const follow = options.flag('follow');
    const previous = options.flag('previous');
    if (previous && (follow || run !== undefined || attempt !== undefined))
      throw usage('--previous chooses the attempt, which has ended', [`berth job logs ${name} --previous`]);
    const client = session.client(options);
    const failed = previous ? await lastFailure(client, name) : undefined;
    if (previous && failed === undefined) {
      session.terminal.err(
        `no attempt of ${name} failed lately; ${session.next(`berth job logs ${name}`)}\n`,
      );
      return EXIT.ok;
    }
    const query = {
      follow: follow || undefined,
      run,
      attempt: attempt === undefined ? undefined : wholeNumber('--attempt', attempt),
      ...failed,
      tail: tail === undefined ? undefined : wholeNumber('--tail', tail),
    };
    const asked = { ...named(name), query };
    const source = jobLines(client, asked, follow);
    for await (const line of source) {
      printed += 1;
      session.terminal.out(`${line.text}\n`);
    }
    if (printed === 0 && !follow)
      session.terminal.err(`no output; ${session.next(`berth describe job ${name}`)}\n`);
    return EXIT.ok;
  },
};

async function lastFailure(
  client: Client,
  name: string,
): Promise<{ readonly run: string; readonly attempt: number } | undefined> {
  const { status } = await client.record('GET /api/v1/jobs/{name}', named(name));
  for (const { id, failures = [] } of status?.runs ?? []) {
    const attempt = failures.at(-1)?.attempt;
    if (attempt !== undefined) return { run: textOf(id), attempt };
  }
  return undefined;
}

const cancel: Subcommand = {
  name: 'cancel',
  summary: 'End the run that is under way',
  description: ['Ends the run that is under way; it is not tried again. The job and its schedule stay.'],
  parameters: [NAME],
  options: [...REMOTE_OPTIONS],
  examples: [{ line: 'berth job cancel nightly-report', what: 'end it now' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const client = session.client(options);
    const job = await client.record('POST /api/v1/jobs/{name}/cancel', named(name));
    session.terminal.out(`job/${name} run ${textOf(job.run)} cancelled\n`);
    return EXIT.ok;
  },
};

const remove = deleteCommand({
  kind: 'job',
  parameter: NAME,
  remove: (client, name) => client.record('DELETE /api/v1/jobs/{name}', named(name)),
  and: 'its runs and their logs',
  summary: 'Delete a job with its runs',
  description: ['Deletes a job with its runs and their logs. A run under way is ended.'],
  examples: [{ line: 'berth job delete nightly-report', what: 'with everything it kept' }],
});

export const job: CommandBody = {
  description: [
    'A job runs a container to its end: once, or at the times of a cron schedule (UTC). Jobs are created with berth apply from a document of kind Job.',
  ],
  examples: [
    { line: 'berth apply -f report.yaml', what: 'create a job' },
    { line: 'berth job run nightly-report', what: 'run it now' },
    { line: 'berth job logs nightly-report', what: 'what it printed' },
  ],
  subcommands: [list, get, run, logs, cancel, remove],
};
