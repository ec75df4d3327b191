import { setTimeout as pause } from 'node:timers/promises';
import type { LiveState } from '../sdk/index.ts';
import type { Client } from './client.ts';
import type { OutputFormat } from './command.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { Failure, NotThere, Refused } from './failure.ts';
import { isWhole, listText, type Listing, structuredText } from './output.ts';
import type { Session } from './session.ts';

/** Events of one moment lead to one look. */
const GATHER_MS = 250;
/** Between two looks, however much happens. */
const LEAST_MS = 1000;
/** Not everything that is shown has an event. */
const ANYWAY_MS = 10_000;

/** Says when the connection is lost, and when it is there again. */
export function connectionTeller(terminal: Session['terminal']): (state: LiveState) => void {
  let isLost = false;
  return (state) => {
    if (state === 'reconnecting' && !isLost) terminal.err('the connection was lost; trying again\n');
    if (state === 'live' && isLost) terminal.err('connected again\n');
    if (state !== 'connecting') isLost = state === 'reconnecting';
  };
}

/** Whenever something may have changed: by the tenant's events, and now and then anyway. Ends with the interruption. */
async function* moments(session: Session, client: Client): AsyncGenerator<void> {
  const { interrupted: signal, terminal } = session;
  let wake = Promise.withResolvers<void>();
  let everyMs = ANYWAY_MS;
  const tell = connectionTeller(terminal);
  const onState = (state: LiveState): void => {
    tell(state);
    // What happened before it was open is looked at, too.
    if (state === 'live') wake.resolve();
  };
  const listen = async (): Promise<void> => {
    for await (const _event of client.events(onState)) wake.resolve();
  };
  // Who may not read events is shown what changed a little later; whose token is revoked is told by the next look.
  void listen().catch(() => {
    everyMs = LEAST_MS;
    wake.resolve();
  });
  for (;;) {
    const looked = performance.now();
    const anyway = new AbortController();
    const stop = AbortSignal.any([signal, anyway.signal]);
    await Promise.race([wake.promise, pause(everyMs, undefined, { signal: stop }).catch(() => undefined)]);
    anyway.abort();
    const restMs = Math.max(GATHER_MS, LEAST_MS - (performance.now() - looked));
    await pause(restMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    wake = Promise.withResolvers();
    yield;
  }
}

interface Watched<T> {
  readonly listing: Listing<T>;
  readonly format: OutputFormat;
  /** One record was named: expressions see it, and not a list. */
  readonly isOne: boolean;
  readonly read: () => Promise<readonly T[]>;
}

/** A control plane that is in trouble is waited for; what is refused stays refused. */
function isPassing(error: unknown): boolean {
  if (error instanceof Refused) return error.status >= 500 || error.status === 429;
  return error instanceof Failure && error.exitCode === EXIT.unreachable;
}

/** The first table whole, then each record that changed in what `-o wide` shows; ages do not count. */
export async function watchRecords<T>(
  session: Session,
  client: Client,
  watched: Watched<T>,
): Promise<ExitCode> {
  const { listing, format, read } = watched;
  const { terminal } = session;
  const seen = new Map<string, string>();
  let troubled = '';
  const show = async (records: readonly T[], isFirst: boolean): Promise<void> => {
    const changed = records.filter((record) => {
      const key = listing.nameOf(record);
      const shown = JSON.stringify(listing.columns.map((column) => column.cell(record, 0)));
      if (seen.get(key) === shown) return false;
      seen.set(key, shown);
      return true;
    });
    const left = new Set(records.map((record) => listing.nameOf(record)));
    for (const key of [...seen.keys()].filter((one) => !left.has(one))) {
      seen.delete(key);
      if (format === 'json') terminal.out(`${JSON.stringify({ gone: key })}\n`);
      // Names alone are for programs, which would take these words for some.
      else if (format === 'name') terminal.err(`${key} is gone\n`);
      else if (!isWhole(format)) terminal.out(`${key} is gone\n`);
    }
    if (changed.length > 0 || isFirst)
      terminal.out(await changedText(session, watched, { records, changed }, isFirst));
  };
  await show(await read(), true);
  for await (const _moment of moments(session, client)) {
    try {
      await show(await read(), false);
      troubled = '';
    } catch (error) {
      if (session.interrupted.aborted) break;
      // One record that was deleted: it may come again.
      if (error instanceof NotThere || (error instanceof Refused && error.status === 404))
        await show([], false);
      else if (!isPassing(error)) throw error;
      // That the connection is lost was said.
      else if (error instanceof Refused && error.rejection.code !== troubled) {
        troubled = error.rejection.code;
        terminal.err(`${troubled}: ${error.rejection.why}; trying again\n`);
      }
    }
  }
  return EXIT.interrupted;
}

async function changedText<T>(
  session: Session,
  { listing, format, isOne }: Watched<T>,
  { records, changed }: { readonly records: readonly T[]; readonly changed: readonly T[] },
  isFirst: boolean,
): Promise<string> {
  if (format === 'json') return changed.map((record) => `${JSON.stringify(record)}\n`).join('');
  if (format === 'name') return changed.map((record) => `${listing.nameOf(record)}\n`).join('');
  if (format === 'yaml') {
    const texts = await Promise.all(changed.map((record) => structuredText(format, record)));
    return texts.map((text) => `---\n${text}`).join('');
  }
  if (isWhole(format)) return structuredText(format, isOne ? changed[0] : changed);
  // Laid out with those that did not change, so that a row stands below the others.
  const [head = '', ...rows] = listText(session.terminal, listing, records, format, session.now()).split(
    '\n',
  );
  const isChanged: ReadonlySet<T | undefined> = new Set(changed);
  const shown = rows.filter((_row, at) => at < records.length && isChanged.has(records[at]));
  return [...(isFirst ? [head] : []), ...shown].map((line) => `${line}\n`).join('');
}
