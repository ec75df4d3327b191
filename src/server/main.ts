import { readFileSync } from 'node:fs';
import pino from 'pino';
import { messageOf } from '../core/model/values.ts';
import { ConfigError, loadConfig } from './config.ts';
import { helpText } from './help.ts';
import { lineTime, turnedLines } from './log-lines.ts';
import { startServer } from './server.ts';
import { VERSION } from './version.ts';

const EXIT_USAGE = 2;
const STOP_DEADLINE_MS = 10_000;

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(helpText());
    return;
  }
  const config = loadConfig(args, process.env);
  const log = pino(
    { level: config.logLevel, base: { program: 'berth-server' }, timestamp: lineTime },
    turnedLines(process.stdout.fd),
  );
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
    bootstrapToken: process.env['BERTH_BOOTSTRAP_TOKEN'],
    readFile: (path) => readFileSync(path, 'utf8'),
    signal: stopping.signal,
  });
  log.info({ url: server.url, version: VERSION, store: config.store.kind }, 'control plane ready');
  stop = () => {
    // A connection or a pipe that will not end must not keep the process: everything acknowledged is on disk.
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
}

main().catch((error: unknown) => {
  const text = messageOf(error);
  process.stderr.write(`berth server: ${text}\n`);
  process.exit(error instanceof ConfigError ? EXIT_USAGE : 1);
});
