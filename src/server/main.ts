import { fstatSync, readFileSync, writeFileSync } from 'node:fs';
import { errnoOf, messageOf } from '../core/model/values.ts';
import { loadConfig } from './config.ts';
import { helpText } from './help.ts';
import { turnedLines } from './log-lines.ts';
import { ownFiles } from './own-files.ts';
import { ownLog } from './own-log.ts';
import { failureOf } from './recovery/failure.ts';
import { unknownCommand } from './recovery/words.ts';
import { startServer } from './server.ts';
import { collectAfterStart } from './start-garbage.ts';
import { VERSION } from './version.ts';

const STANDARD_OUTPUT = 1;
const STOP_DEADLINE_MS = 10_000;
/** Whether it still is what is installed. */
const LOOK_MS = 10_000;

let loss: Error | undefined;

/** The first counts. */
function lost(error: unknown): void {
  // Its reader has seen enough.
  if (errnoOf(error) === 'EPIPE') return;
  loss ??= new Error(`standard output: ${messageOf(error)}`, { cause: error });
}

/** To the last byte or not at all: a stream takes what a full disk took of a write for the whole; but a stream alone waits for a full pipe. */
function print(text: string): void {
  if (fstatSync(STANDARD_OUTPUT).isFile()) {
    try {
      writeFileSync(STANDARD_OUTPUT, text);
    } catch (error) {
      lost(error);
    }
  } else {
    process.stdout.write(text);
  }
  if (loss !== undefined) throw loss;
}

/** When everything has left the process. */
async function printed(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.stdout.write('', () => resolve());
  await promise;
  if (loss !== undefined) throw loss;
}

/** Commands beside the one that runs the control plane. They are loaded only when they are asked for. */
async function runCommand(word: string, args: readonly string[]): Promise<void> {
  const { RECOVERY_COMMANDS, runRecovery } = await import('./recovery/commands.ts');
  if (!Object.hasOwn(RECOVERY_COMMANDS, word)) throw unknownCommand(word, Object.keys(RECOVERY_COMMANDS));
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const say = (line: string): void => print(`${line}\n`);
  await runRecovery(word, { args, environment: process.env, say, signal: stopping.signal });
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const [first = '', ...others] = args;
  process.stdout.on('error', lost);
  if (/^[a-z]/.test(first)) {
    await runCommand(first, others);
    return await printed();
  }
  if (args.includes('--help') || args.includes('-h')) {
    print(helpText());
    return await printed();
  }
  const config = loadConfig(args, process.env);
  const { log, feed, line } = ownLog(config.logLevel, turnedLines(process.stdout.fd));
  const stopping = new AbortController();
  let stop = (): void => {
    stopping.abort();
    process.exit(0);
  };
  // The same listener to the end: a signal that comes while one is exchanged for another is lost.
  process.once('SIGTERM', () => stop());
  process.once('SIGINT', () => stop());
  const server = await startServer({
    config,
    log,
    feed,
    line,
    bootstrapToken: process.env['BERTH_BOOTSTRAP_TOKEN'],
    readFile: (path) => readFileSync(path, 'utf8'),
    signal: stopping.signal,
  });
  log.info({ url: server.url, version: VERSION, store: config.store.kind }, 'control plane ready');
  collectAfterStart();
  const looking = setInterval(() => {
    if (!ownFiles.replaced) return;
    clearInterval(looking);
    log.warn(
      'the files of this release were replaced; restart this control plane to run what is installed now',
    );
  }, LOOK_MS).unref();
  void server.outdated.then((error) => {
    process.exitCode = failureOf(error).status;
    log.fatal(
      { problem: messageOf(error) },
      'this release cannot work with the store any more; this control plane ends',
    );
    stop();
  });
  stop = () => {
    // A connection or a pipe that will not end must not keep the process: everything acknowledged is on disk.
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    server.close().then(
      () => process.exit(),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
}

main().catch(async (error: unknown) => {
  const { status, message } = failureOf(error);
  process.stderr.write(`berth server: ${message}\n`);
  await printed().catch(() => undefined);
  process.exit(status);
});
