import type { Json } from '../client.ts';
import { type Option, type Parameter, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { confirmRemoval } from '../deploying.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import type { Manifest } from '../manifests.ts';
import type { OptionValues } from '../option-values.ts';
import { structuredText } from '../output.ts';
import type { Session } from '../session.ts';
import { planSet, showEntry, showRefusals } from '../set/planned-set.ts';
import { writeSet } from '../set/write-set.ts';
import { backupJob, drillJob, type Repository, restoreJob } from '../volume-jobs.ts';
import { sizeOf } from '../volumes.ts';
import { timeoutOf } from '../waiting.ts';
import { wholeNumber } from './run.ts';

const SECRET = 'RESTIC=resources/restic';
const PRINTED = ['yaml', 'json'] as const;

const REPOSITORY_OPTIONS: readonly Option[] = [
  {
    flags: '--repo <repository>',
    description:
      "restic's name of the repository, such as rest:https://backups.example.com/shop or s3:https://s3.example.com/backups. With a credential in it: --repo-in-secret.",
  },
  {
    flags: '--repo-in-secret',
    description: 'The repository is the key REPOSITORY of the secret RESTIC.',
  },
  {
    flags: '--image <image>',
    description: 'An image with restic and sh and without an entrypoint, pinned as for berth run.',
  },
  {
    flags: '--secret <name=path>',
    description: `A secret whose keys restic reads as NAME_KEY: PASSWORD of RESTIC, ACCESS_KEY_ID of AWS; may be repeated. Default: ${SECRET}.`,
    repeatable: true,
  },
];

const WRITE_OPTIONS: readonly Option[] = [
  { flags: '--name <name>', description: 'Name of the job. Default: made from that of the volume.' },
  {
    flags: '-o, --output <format>',
    description: 'Print the documents, yaml or json, for a file that is kept; nothing is asked or stored.',
    values: PRINTED,
  },
  { flags: '--dry-run', description: 'Show the plan; store nothing. Ends with 5: something would change.' },
  {
    flags: '--allow-removal',
    description: 'Do not ask before an update that removes fields of an existing job.',
  },
  ...REMOTE_OPTIONS,
];

const PATH: Option = {
  flags: '--path <folder>',
  description: 'This folder of the volume, without a leading slash. Default: all of it.',
};

const scheduleOption = (fallback: string): Option => ({
  flags: '--schedule <cron>',
  description: 'When it runs, UTC.',
  default: fallback,
});

/** Local paths are gone with the container: restic would make a repository there, and say that all is well. */
const REMOTE = /^(?:azure|b2|gs|rest|s3|sftp|swift):./;

function repositoryOf(options: OptionValues): Repository {
  const repo = options.text('repo');
  const image = options.text('image');
  const isSecret = options.flag('repoInSecret');
  if ((repo === undefined) !== isSecret)
    throw usage('where is the repository?', [
      '--repo rest:https://backups.example.com/shop',
      '--repo-in-secret   where it holds a credential: key REPOSITORY of the secret RESTIC',
    ]);
  if (repo !== undefined && !REMOTE.test(repo))
    throw usage(`--repo ${repo}: expected a repository elsewhere; a path would be gone with the container`, [
      'azure:, b2:, gs:, rest:, s3:, sftp: or swift:',
    ]);
  if (image === undefined)
    throw usage('no image', ['--image registry.example.com/tools/restic:0.14   one with restic and sh']);
  const given = options.list('secret');
  const secrets = (given.length === 0 ? [SECRET] : given).map((text) => {
    const [name = '', path = '', ...more] = text.split('=');
    if (name === '' || path === '' || more.length > 0)
      throw usage(`--secret ${text}: expected name=path such as ${SECRET}`);
    return { name, path };
  });
  return { ...(repo !== undefined && { repo }), image, secrets };
}

/** It is joined to the place of the volume, and passed to restic. */
function folderOf(options: OptionValues, flag: 'path' | 'as'): string | undefined {
  const text = options.text(flag);
  if (text === undefined) return undefined;
  if (text.split('/').some((word) => word === '' || word === '.' || word === '..'))
    throw usage(`--${flag} ${text}: expected a folder in the volume such as backup or pg/backup`);
  return text;
}

/** The name marks what is saved: an id says nothing to whoever restores it. */
function volumeNameOf(name: string): string {
  if (!name.startsWith('vol_')) return name;
  throw usage(`${name} is an id; name the volume`, ['berth volume list']);
}

function counted(options: OptionValues, flag: string, fallback: number): number {
  const text = options.text(`keep${flag.charAt(0).toUpperCase()}${flag.slice(1)}`);
  return text === undefined ? fallback : wholeNumber(`--keep-${flag}`, text);
}

/** Prints the documents, or applies them as `berth apply` does a file. */
async function take(
  session: Session,
  options: OptionValues,
  documents: readonly Json[],
  next: string,
): Promise<number> {
  const { terminal } = session;
  const format = options.text('output');
  if (format !== undefined) {
    const known = PRINTED.find((one) => one === format);
    if (known === undefined)
      throw usage(`unknown output format ${format}`, [`-o takes: ${PRINTED.join(', ')}`]);
    const texts = await Promise.all(documents.map((one) => structuredText(known, one)));
    terminal.out(texts.join(known === 'yaml' ? '---\n' : ''));
    return EXIT.ok;
  }
  const timeoutMs = timeoutOf(options, '12h');
  const client = session.client(options);
  const manifests = documents.map((body): Manifest => {
    const [kind, name] = [textOf(body['kind']), textOf(body['name'])];
    return { source: name, kind, name, body, placeOf: (field) => field };
  });
  const entries = await planSet(client, manifests);
  if (showRefusals(session, entries) > 0) {
    terminal.err('nothing was stored\n');
    return EXIT.refused;
  }
  for (const entry of entries) showEntry(session, entry);
  if (options.flag('dryRun')) {
    terminal.err('dry run: nothing was stored\n');
    return entries.every(({ planned: { action } }) => action === 'unchanged') ? EXIT.ok : EXIT.wouldChange;
  }
  const losses = entries.map(({ manifest: { name }, planned: { removed = [] } }) => ({ name, removed }));
  await confirmRemoval(session, losses, options);
  const code = await writeSet(session, client, entries, { timeoutMs, wait: options.unlessDenied('wait') });
  if (code === EXIT.ok) terminal.err(`${session.next(next)}\n`);
  return code;
}

const SAVED: Parameter = { term: '<name>', description: 'The volume, by name.', names: 'volumes' };

export const backupJobCommand: Subcommand = {
  name: 'backup-job',
  summary: 'Save a volume with restic, by a scheduled job',
  description: [
    'Makes a job that saves the files of a volume to a repository of restic, and forgets old ones. It mounts the volume for reading, so that it runs where the bytes are, after a promotion too.',
    'Files that are written at that moment are read as they are, and a database that is copied so is broken. With --before a command is run in its deployment first, which leaves a consistent copy in the volume, and --path saves that copy alone.',
    'The repository is made at the first run. What restic needs to open it comes from secrets; without the password nobody reads the backup, you included: keep it elsewhere too.',
  ],
  parameters: [
    SAVED,
    { term: '[command...]', description: 'After --: what is run in the deployment of --before.' },
  ],
  options: [
    ...REPOSITORY_OPTIONS,
    PATH,
    scheduleOption('0 2 * * *'),
    {
      flags: '--before <deployment>',
      description:
        'Run the command after -- in an instance of it first; when that fails, the run has failed.',
      names: 'deployments',
    },
    { flags: '--before-timeout <duration>', description: 'Of that command, 1h at most. Default: 10m.' },
    { flags: '--keep-daily <n>', description: 'Days of which the last snapshot is kept.', default: '7' },
    { flags: '--keep-weekly <n>', description: 'The same of weeks.', default: '4' },
    { flags: '--keep-monthly <n>', description: 'The same of months.', default: '6' },
    ...WRITE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth volume backup-job uploads --repo rest:https://backups.example.com/shop --image acme/restic:1',
      what: 'every night, all of it',
    },
    {
      line: 'berth volume backup-job db --repo-in-secret --image acme/restic:1 --path dump --before pg -- dump.sh',
      what: 'what the database leaves in dump, by a script of its image',
    },
    {
      line: 'berth volume backup-job uploads --repo-in-secret --image acme/restic:1 -o yaml > backup.yaml',
      what: 'as a file for berth apply',
    },
  ],
  run: (session, { parameters: [given = '', ...command], options }) => {
    const volume = volumeNameOf(given);
    const deployment = options.text('before');
    if ((deployment === undefined) !== (command.length === 0))
      throw usage('--before needs a command, and a command --before', [
        `berth volume backup-job ${volume} … --before DEPLOYMENT -- COMMAND ARGUMENTS`,
      ]);
    const timeout = options.text('beforeTimeout');
    const path = folderOf(options, 'path');
    const name = options.text('name') ?? `backup-${volume}`;
    const job = backupJob({
      ...repositoryOf(options),
      name,
      volume,
      schedule: options.text('schedule') ?? '',
      ...(path !== undefined && { path }),
      keep: {
        daily: counted(options, 'daily', 7),
        weekly: counted(options, 'weekly', 4),
        monthly: counted(options, 'monthly', 6),
      },
      ...(deployment !== undefined && {
        before: { deployment, command, ...(timeout !== undefined && { timeout }) },
      }),
    });
    return take(session, options, [job], `berth job run ${name}`);
  },
};

export const restoreJobCommand: Subcommand = {
  name: 'restore-job',
  summary: 'Restore what was saved into a new volume',
  description: [
    'Makes a job that restores a snapshot of another volume into this one, and waits for its end. Nothing is restored over what is there: a volume with files is refused. With --size and --class the volume is made first.',
    'The job mounts the volume for writing. Delete it when it is done, and what is to use the volume can mount it.',
  ],
  parameters: [{ term: '<name>', description: 'The volume to restore into, by name.', names: 'volumes' }],
  options: [
    {
      flags: '--from <volume>',
      description: 'The volume that was saved; it need not exist any more.',
      names: 'volumes',
    },
    { flags: '--snapshot <id>', description: 'This snapshot.', default: 'latest' },
    ...REPOSITORY_OPTIONS,
    {
      ...PATH,
      description: 'Only this folder of what was saved, without a leading slash. Default: all of it.',
    },
    { flags: '--as <folder>', description: 'What the folder of --path is called in the new volume.' },
    { flags: '--size <amount>', description: 'Make the volume, of this size.' },
    {
      flags: '--class <class>',
      description: 'Of the volume that is made: ephemeral or replicated.',
      values: ['ephemeral', 'replicated'],
    },
    { flags: '--replicas <n>', description: 'Copies of the volume that is made, beside the primary.' },
    { flags: '--no-wait', description: 'End as soon as it is stored.' },
    { flags: '--timeout <duration>', description: 'How long to wait for its end.', default: '12h' },
    ...WRITE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth volume restore-job db-2 --from db --path backup --as pg --repo-in-secret --image acme/restic:1',
      what: 'into a volume that is there and empty',
    },
  ],
  run: (session, { parameters: [given = ''], options }) => {
    const volume = volumeNameOf(given);
    const from = options.text('from');
    if (from === undefined) throw usage('--from: which volume was saved?', ['--from pg-data']);
    const [path, as] = [folderOf(options, 'path'), folderOf(options, 'as')];
    if (as !== undefined && path === undefined) throw usage('--as names what --path restores: both, or none');
    const name = options.text('name') ?? `restore-${volume}`;
    const job = restoreJob({
      ...repositoryOf(options),
      name,
      volume,
      from: volumeNameOf(from),
      snapshot: options.text('snapshot') ?? 'latest',
      ...(path !== undefined && { path }),
      ...(as !== undefined && { as }),
    });
    const made = volumeDocument(volume, options);
    const documents = made === undefined ? [job] : [made, job];
    return take(session, options, documents, `berth job logs ${name} · berth job delete ${name}`);
  },
};

function volumeDocument(name: string, options: OptionValues): Json | undefined {
  const [size, kind, replicas] = [options.text('size'), options.text('class'), options.text('replicas')];
  if (size === undefined && kind === undefined && replicas === undefined) return undefined;
  if (size === undefined || kind === undefined)
    throw usage('a volume that is made needs --size and --class', ['--size 10Gi --class replicated']);
  return {
    kind: 'Volume',
    name,
    class: kind,
    type: 'volume',
    sizeBytes: sizeOf('--size', size),
    ...(replicas !== undefined && { replicas: wholeNumber('--replicas', replicas) }),
  };
}

export const drillJobCommand: Subcommand = {
  name: 'drill-job',
  summary: 'Restore what was saved and check it, by a scheduled job',
  description: [
    'Makes a job that restores the newest snapshot of a volume into its own container, which goes with it, and runs a check there: a backup counts for what a restore gives back. The run fails when the restore or the check does, and berth job list, events and alerts say so.',
    'The check is run as root in the folder that was saved. The image needs restic, sh and what the check needs; the machine, room for what is restored.',
  ],
  parameters: [
    { term: '<name>', description: 'The volume that was saved, by name.', names: 'volumes' },
    { term: '[command...]', description: 'After --: the check.' },
  ],
  options: [...REPOSITORY_OPTIONS, PATH, scheduleOption('0 5 * * 0'), ...WRITE_OPTIONS],
  examples: [
    {
      line: 'berth volume drill-job uploads --repo-in-secret --image acme/restic:1 -- test -s index.json',
      what: 'every Sunday',
    },
  ],
  run: (session, { parameters: [given = '', ...check], options }) => {
    const from = volumeNameOf(given);
    if (check.length === 0)
      throw usage('what checks it?', [`berth volume drill-job ${from} … -- COMMAND ARGUMENTS`]);
    const path = folderOf(options, 'path');
    const name = options.text('name') ?? `drill-${from}`;
    const job = drillJob({
      ...repositoryOf(options),
      name,
      from,
      schedule: options.text('schedule') ?? '',
      ...(path !== undefined && { path }),
      check,
    });
    return take(session, options, [job], `berth job run ${name}`);
  },
};
