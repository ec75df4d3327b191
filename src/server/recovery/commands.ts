import { setTimeout as pause } from 'node:timers/promises';
import { formatBytes, parseDuration } from '../../core/model/quantity.ts';
import { messageOf } from '../../core/model/values.ts';
import { type Config, loadConfig } from '../config.ts';
import { placeName } from '../store/whole-store.ts';
import { type BackupMade, type BackupOrder, keepNewest, makeBackup } from './backup.ts';
import { amount, contentsText } from './digest.ts';
import { RecoveryError, STATUS_MEANINGS } from './failure.ts';
import { askReady } from './health.ts';
import { migrateStore } from './migrate.ts';
import { readPassphrase } from './passphrase.ts';
import { rescue } from './rescue.ts';
import { restoreBackup } from './restore.ts';
import { keysElsewhere } from './server-keys.ts';
import { storePlace } from './store-place.ts';
import { verifyBackup } from './verify.ts';
import { type Flag, readWords, requireNoFiles, type Words } from './words.ts';

export interface CommandInput {
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
  /** Ctrl-C, or a stop of the service. */
  readonly signal: AbortSignal;
  /** Of the key of a backup; less than usual only in tests. */
  readonly cost?: number;
}

interface RecoveryCommand {
  readonly usage: string;
  readonly about: string;
  readonly flags: readonly Flag[];
  readonly details: string;
  run(words: Words, input: CommandInput): Promise<void>;
}

const PASSPHRASE: Flag = {
  name: '--passphrase-file',
  value: 'FILE',
  about:
    'File with the passphrase that nobody else can read, or a credential of systemd; else it is asked for',
};

function configOf({ settings }: Words, { environment }: CommandInput): Config {
  return loadConfig(settings, environment);
}

function passphraseOf(
  { values }: Words,
  { environment }: CommandInput,
  use: 'seal' | 'open',
): Promise<string> {
  return readPassphrase(values['--passphrase-file'], use, environment['CREDENTIALS_DIRECTORY']);
}

function oneFile({ files }: Words, what: string): string {
  const [file, ...more] = files;
  if (file === undefined) throw new RecoveryError('usage', `${what} is missing`);
  requireNoFiles(more);
  return file;
}

const MOST_KEPT = 100_000;
const SHORTEST_MS = 1000;

function scheduleOf({ values }: Words): { readonly keep?: number; readonly everyMs?: number } {
  const [keep, every] = [values['--keep'], values['--every']];
  const kept = Number(keep);
  if (keep !== undefined && !(Number.isInteger(kept) && kept >= 1 && kept <= MOST_KEPT))
    throw new RecoveryError('usage', `--keep must be a number from 1 on, not ${keep}`);
  const everyMs = every === undefined ? undefined : parseDuration(every);
  if (every !== undefined && (everyMs === undefined || everyMs < SHORTEST_MS))
    throw new RecoveryError(
      'usage',
      `--every must be a duration of a second or more, such as 24h, not ${every}`,
    );
  return { ...(keep === undefined ? {} : { keep: kept }), ...(everyMs === undefined ? {} : { everyMs }) };
}

function tellBackup(config: Config, made: BackupMade, { say }: CommandInput): void {
  say(`${made.path}: ${formatBytes(made.bytes)}, revision ${made.revision}, ${contentsText(made.contents)}`);
  const names = made.keys.map(({ setting }) => setting).join(', ');
  if (names !== '') say(`${made.keysTo ?? 'it'} holds ${names}`);
  for (const line of keysElsewhere(config, made.keys)) say(line);
}

async function backupOnce(order: BackupOrder, keep: number | undefined, input: CommandInput): Promise<void> {
  tellBackup(order.config, await makeBackup(order), input);
  if (keep === undefined) return;
  const gone = await keepNewest(order.to, keep);
  if (gone.length > 0) input.say(`removed ${gone.join(', ')}`);
}

/** Until it is stopped; one that fails is told, and the next is tried in its time. */
async function backupAgain(
  order: BackupOrder,
  everyMs: number,
  keep: number | undefined,
  input: CommandInput,
): Promise<void> {
  for (;;) {
    try {
      await backupOnce(order, keep, input);
    } catch (error) {
      if (input.signal.aborted) return;
      input.say(`no backup was made: ${messageOf(error)}`);
    }
    await pause(everyMs, undefined, { signal: input.signal }).catch(() => undefined);
    if (input.signal.aborted) return;
  }
}

async function backup(words: Words, input: CommandInput): Promise<void> {
  requireNoFiles(words.files);
  const to = words.values['--to'];
  if (to === undefined) throw new RecoveryError('usage', '--to FILE or --to FOLDER/ is missing');
  const { keep, everyMs } = scheduleOf(words);
  if ((keep !== undefined || everyMs !== undefined) && !to.endsWith('/'))
    throw new RecoveryError('usage', '--keep and --every need a folder: write --to FOLDER/, with the slash');
  const keysTo = words.values['--keys-to'];
  if (keysTo !== undefined && everyMs !== undefined)
    throw new RecoveryError('usage', '--keys-to names one file; make it once, without --every');
  const config = configOf(words, input);
  const passphrase = await passphraseOf(words, input, 'seal');
  const order: BackupOrder = {
    config,
    to,
    passphrase,
    signal: input.signal,
    ...(keysTo === undefined ? {} : { keysTo }),
    ...(input.cost === undefined ? {} : { cost: input.cost }),
  };
  if (everyMs === undefined) await backupOnce(order, keep, input);
  else await backupAgain(order, everyMs, keep, input);
}

async function verify(words: Words, input: CommandInput): Promise<void> {
  const { say, signal } = input;
  const file = oneFile(words, 'the backup');
  if (words.settings.length > 0)
    throw new RecoveryError('usage', `unknown flag ${words.settings[0] ?? ''}; verify needs no settings`);
  const passphrase = await passphraseOf(words, input, 'open');
  const { createdAt, revision, contents, keys } = await verifyBackup(file, passphrase, signal);
  say(`restored into a temporary store and compared: equal`);
  say(`made ${createdAt} at revision ${revision}: ${contentsText(contents)}; ${amount(keys, 'keys')}`);
}

async function restore(words: Words, input: CommandInput): Promise<void> {
  const { say } = input;
  const from = oneFile(words, 'the backup');
  const config = configOf(words, input);
  const passphrase = await passphraseOf(words, input, 'open');
  const keysFrom = words.values['--keys-from'];
  const done = await restoreBackup({
    config,
    from,
    passphrase,
    signal: input.signal,
    ...(keysFrom === undefined ? {} : { keysFrom }),
  });
  say(`restored into ${placeName(storePlace(config))}: ${contentsText(done.contents)}`);
  say(`everything that was accepted after ${done.createdAt} (revision ${done.revision}) is lost`);
  for (const line of done.told) say(line);
  if (done.nodes.length === 0) return;
  say(
    `held until you uncordon them, with all that they run: ${amount(done.nodes.length, 'nodes')}: ${done.nodes.slice(0, 20).join(', ')}${done.nodes.length > 20 ? ', …' : ''}`,
  );
  say('next: start the control plane, look at berth events --kind node.not_in_store, apply what is missing,');
  say('then berth node uncordon each node');
}

async function migrate(words: Words, input: CommandInput): Promise<void> {
  requireNoFiles(words.files);
  const target = words.values['--to-config'];
  if (target === undefined)
    throw new RecoveryError('usage', '--to-config FILE is missing: the configuration with the other store');
  const from = configOf(words, input);
  const to = loadConfig(['--config', target], {});
  const contents = await migrateStore(from, to);
  input.say(`${placeName(storePlace(from))} → ${placeName(storePlace(to))}: ${contentsText(contents)}`);
  input.say('both were read again after the copy: equal');
  input.say(`next: start every control plane with ${target}; keep keys/ as it is`);
}

async function rescueToken(words: Words, input: CommandInput): Promise<void> {
  requireNoFiles(words.files);
  const { path, id, expiresAt } = await rescue(configOf(words, input), words.values['--to']);
  input.say(`a platform administrator's token is in ${path}; it ends at ${expiresAt}`);
  input.say(`next: berth login with it, make one that lasts (berth token create), and revoke ${id}`);
}

async function health(words: Words, input: CommandInput): Promise<void> {
  requireNoFiles(words.files);
  input.say(`${await askReady(configOf(words, input), input.signal)}: ready`);
}

export const RECOVERY_COMMANDS: Readonly<Record<string, RecoveryCommand>> = {
  backup: {
    usage: 'berth server backup --to FILE|FOLDER/ [flags] [settings]',
    about: 'Write an encrypted backup of everything, beside a control plane that runs',
    flags: [
      {
        name: '--to',
        value: 'FILE|FOLDER/',
        about: 'Where it goes; in a folder it is named by time and revision',
      },
      PASSPHRASE,
      {
        name: '--keys-to',
        value: 'FILE',
        about: 'Put the keys of the control plane there, and not into the backup',
      },
      { name: '--keep', value: 'N', about: 'Of the backups in the folder the newest N stay' },
      { name: '--every', value: 'DURATION', about: 'Go on, and make one so often, until it is stopped' },
    ],
    details: 'Everything is of one revision. A file is there when it is whole, or not at all.',
    run: backup,
  },
  verify: {
    usage: 'berth server verify FILE [flags]',
    about: 'Restore a backup into a temporary store and compare',
    flags: [PASSPHRASE],
    details: 'The temporary store is in $TMPDIR and is removed at the end.',
    run: verify,
  },
  restore: {
    usage: 'berth server restore FILE [flags] [settings]',
    about: 'Put a backup into an empty data folder, or an empty prefix of etcd',
    flags: [PASSPHRASE, { name: '--keys-from', value: 'FILE', about: 'Where --keys-to has put the keys' }],
    details:
      'What was accepted since the backup is lost, so nodes keep what they run and are given no orders until they are\nuncordoned. Epochs and revisions continue above those that were given out.',
    run: restore,
  },
  migrate: {
    usage: 'berth server migrate --to-config FILE [settings]',
    about: 'Copy the store from SQLite to etcd, or back, and prove that nothing differs',
    flags: [
      { name: '--to-config', value: 'FILE', about: 'Configuration (berth.yaml) that names the other store' },
    ],
    details: 'Every control plane is stopped. The old store stays as it is.',
    run: migrate,
  },
  rescue: {
    usage: 'berth server rescue [flags] [settings]',
    about: "Make a platform administrator's token on this machine, when none is left",
    flags: [{ name: '--to', value: 'FILE', about: 'Where the token is written [<data-dir>/rescue-token]' }],
    details:
      'It is good for 24 hours and is in the audit. With the embedded store the control plane is stopped meanwhile.',
    run: rescueToken,
  },
  health: {
    usage: 'berth server health [settings]',
    about: 'Ask the control plane on this machine whether it is ready',
    flags: [],
    details: 'It asks /readyz where the settings say that it listens. The image has it as its health check.',
    run: health,
  },
};

export function recoveryHelp({ usage, about, flags, details }: RecoveryCommand): string {
  const rows = flags.map((flag) => `  ${`${flag.name} ${flag.value}`.padEnd(26)} ${flag.about}`);
  const statuses = STATUS_MEANINGS.map(([status, meaning]) => `  ${String(status).padEnd(4)} ${meaning}`);
  return `Usage: ${usage}

${about}.
${details}

${rows.length === 0 ? '' : `Flags:\n${rows.join('\n')}\n\n`}Settings are those of berth server, from berth.yaml, BERTH_* variables or flags; --data-dir and --config name the control plane.

Exit status:
${statuses.join('\n')}
`;
}

export async function runRecovery(name: string, input: CommandInput): Promise<void> {
  const command = RECOVERY_COMMANDS[name];
  if (command === undefined) throw new RecoveryError('usage', `berth server has no command ${name}`);
  if (input.args.includes('--help') || input.args.includes('-h')) {
    input.say(recoveryHelp(command).trimEnd());
    return;
  }
  try {
    await command.run(readWords(input.args, command.flags), input);
  } catch (error) {
    if (!input.signal.aborted) throw error;
    throw new RecoveryError('interrupted', 'interrupted', { cause: error });
  }
}
