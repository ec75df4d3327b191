import { setTimeout as pause } from 'node:timers/promises';
import type { LiveState } from '../sdk/index.ts';
import type { Client } from './client.ts';
import type { OutputFormat } from './command.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { Failure, Refused } from './failure.ts';
import { isWhole, listText, type Listing, structuredText } from './output.ts';
import type { Session } from './session.ts';

/** Events of one moment lead to one look. */
const GATHER_MS = 250;
/** Between two looks, however much happens. */
const LEAST_MS = 1000;
/** Not everything that is shown has an event. */
const ANYWAY_MS = 10_000;

/** Whenever something may have changed: by the tenant's events, and now and then anyway. Ends with the interruption. */
async function* moments(session: Session, client: Client): AsyncGenerator<void> {
  const { interrupted: signal, terminal } = session;
  let wake = Promise.withResolvers<void>();
  let isLost = false;
  let everyMs = ANYWAY_MS;
  const onState = (state: LiveState): void => {
    if (state === 'reconnecting' && !isLost) terminal.err('the connection was lost; trying again\n');
    if (state === 'live' && isLost) terminal.err('connected again\n');
    if (state !== 'connecting') isLost = state === 'reconnecting';
    // What happened before it was open is looked at, too.
    if (state === 'live') wake.resolve();
  };
  const listen = async (): Promise<void> => {
    for await (const _event of client.events(onState)) wake.resolve();
  };
  // Who may not read events is shown what changed a little later.
  void listen().catch(() => {
    everyMs = LEAST_MS;
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
  readonly read: () => Promise<readonly T[]>;
}

/** The first table whole, then each record that changed in what `-o wide` shows; ages do not count. */
export async function watchRecords<T>(
  session: Session,
  client: Client,
  { listing, format, read }: Watched<T>,
): Promise<ExitCode> {
  const seen = new Map<string, string>();
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
      session.terminal.out(isWhole(format) ? wholeGone(format, key) : `${key} is gone\n`);
    }
    if (changed.length > 0 || isFirst)
      session.terminal.out(await changedText(session, listing, { records, changed }, format, isFirst));
  };
  await show(await read(), true);
  for await (const _moment of moments(session, client)) {
    try {
      await show(await read(), false);
    } catch (error) {
      if (session.interrupted.aborted) break;
      // One record that was deleted: it may come again.
      if (error instanceof Refused && error.status === 404) await show([], false);
      // That the connection is lost was said.
      else if (!(error instanceof Failure) || error.exitCode !== EXIT.unreachable) throw error;
    }
  }
  return EXIT.interrupted;
}

const wholeGone = (format: OutputFormat, key: string): string =>
  format === 'json' ? `${JSON.stringify({ gone: key })}\n` : '';

async function changedText<T>(
  session: Session,
  listing: Listing<T>,
  { records, changed }: { readonly records: readonly T[]; readonly changed: readonly T[] },
  format: OutputFormat,
  isFirst: boolean,
): Promise<string> {
  if (format === 'json') return changed.map((record) => `${JSON.stringify(record)}\n`).join('');
  if (format === 'name') return changed.map((record) => `${listing.nameOf(record)}\n`).join('');
  if (isWhole(format)) {
    const texts = await Promise.all(changed.map((record) => structuredText(format, record)));
    return texts.map((text) => (format === 'yaml' ? `---\n${text}` : text)).join('');
  }
  // Laid out with those that did not change, so that a row stands below the others.
  const [head = '', ...rows] = listText(session.terminal, listing, records, format, session.now()).split(
    '\n',
  );
  const isChanged: ReadonlySet<T | undefined> = new Set(changed);
  const shown = rows.filter((_row, at) => at < records.length && isChanged.has(records[at]));
  return [...(isFirst ? [head] : []), ...shown].map((line) => `${line}\n`).join('');
}
