import type { Client } from '../client.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Refused } from '../failure.ts';
import type { Session } from '../session.ts';
import { type Entry, mountedNames } from './planned-set.ts';
import { type Wait, WRITTEN_KINDS } from './written-kinds.ts';

const nameOf = ({ manifest: { kind, name } }: Entry): string => `${kind.toLowerCase()}/${name}`;

/** What there is when a set was not written to its end. */
function showRest({ terminal }: Session, entries: readonly Entry[], stored: number): void {
  const listed = (some: readonly Entry[]): string => some.map(nameOf).join(', ') || 'nothing';
  terminal.err(`stored: ${listed(entries.slice(0, stored))}\n`);
  terminal.err(`not stored: ${listed(entries.slice(stored))}\n`);
  terminal.err('go on: mend it and run the same command again; what is stored already is left as it is\n');
}

/** A refusal names the document and the place in its file: there may be a whole folder of them. */
function placed({ manifest }: Entry, error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  const { kind, name, placeOf } = manifest;
  return error.in(`${placeOf(error.rejection.field)}, ${kind.toLowerCase()} ${name}`);
}

export interface Writing {
  readonly timeoutMs: number;
  /** Until everything is up. */
  readonly wait: boolean;
}

/** One after the other, in the order of the plan. What mounts a new volume is written once that is ready. */
export async function writeSet(
  session: Session,
  client: Client,
  entries: readonly Entry[],
  { timeoutMs, wait }: Writing,
): Promise<ExitCode> {
  const alongside = entries.map(({ manifest }) => manifest.name);
  const waits = new Map<Entry, Wait>();
  for (const [stored, entry] of entries.entries()) {
    try {
      const isReady = await volumesReady(entry, waits, timeoutMs);
      if (isReady !== EXIT.ok) {
        showRest(session, entries, stored);
        return isReady;
      }
      const until = await WRITTEN_KINDS[entry.manifest.kind]?.(session, client, entry, alongside);
      if (until !== undefined) waits.set(entry, until);
    } catch (error) {
      if (entries.length > 1) showRest(session, entries, stored);
      throw placed(entry, error);
    }
  }
  if (!wait) return EXIT.ok;
  let code: ExitCode = EXIT.ok;
  for (const until of waits.values()) {
    const ended = await until(timeoutMs);
    if (ended !== EXIT.ok) code = ended;
  }
  return code;
}

async function volumesReady(entry: Entry, waits: Map<Entry, Wait>, timeoutMs: number): Promise<ExitCode> {
  const mounted = mountedNames(entry);
  for (const [other, until] of waits) {
    if (other.manifest.kind !== 'Volume' || !mounted.includes(other.manifest.name)) continue;
    const ended = await until(timeoutMs);
    if (ended !== EXIT.ok) return ended;
    waits.delete(other);
  }
  return EXIT.ok;
}
