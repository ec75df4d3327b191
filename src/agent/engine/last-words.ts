import { boundedLines, type FailureLog, type PrintedLine } from '../../core/model/kept-failure.ts';
import { optional } from '../../core/model/values.ts';
import { type Fields, fields, list, number, text } from './fields.ts';
import type { CheckResult, LastWordsOptions, LogLine } from './engine.ts';
import { milliseconds } from './log-entry.ts';
import { redact } from './redact.ts';

/** Lines of a next run may follow those that are wanted. */
export const LINES_READ = 600;
/** As long as a sentence of an agent may be. */
const HEALTH_BYTES = 1_000;
/** As many as Docker keeps. */
const CHECKS_TOLD = 5;

/** What engines put there themselves. */
const OF_ENGINE: ReadonlySet<string> = new Set(['PATH', 'HOME', 'HOSTNAME', 'TERM', 'container']);

/**
 * Values that must not be kept: what is in the container's environment and neither in its image nor ordered in the open. It is what
 * this very container was given, also when the secret has another value by now.
 */
export function deliveredValues(
  container: Fields,
  image: Fields | undefined,
  plain: Readonly<Record<string, string>>,
): readonly string[] {
  const known = new Set(entries(image));
  return entries(container)
    .filter((entry) => !known.has(entry))
    .flatMap((entry) => {
      const at = entry.indexOf('=');
      const [name, value] = [entry.slice(0, at), entry.slice(at + 1)];
      return at === -1 || OF_ENGINE.has(name) || plain[name] === value ? [] : [value, ...partsOf(value)];
    })
    .toSorted((a, b) => b.length - a.length);
}

function entries(inspected: Fields | undefined): readonly string[] {
  return list(fields(inspected?.['Config'])['Env']).flatMap((entry) => text(entry) ?? []);
}

/** Programs print a password without the address around it, a key line by line, and either as it is in a URL. */
function partsOf(value: string): readonly string[] {
  const lines = value.split('\n').map((line) => line.trim());
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const inUrl = url === undefined ? [] : [url.password, ...url.searchParams.values()];
  const parts = [...(lines.length > 1 ? lines : []), ...inUrl];
  return [
    ...parts,
    ...parts.map(decoded),
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
  ].filter((part) => part !== '');
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A value that spans lines is taken out line by line; one that the bound of a line cuts in two is not found. */
export async function* redactedLines(
  lines: AsyncIterable<LogLine>,
  values: readonly string[],
): AsyncGenerator<LogLine> {
  for await (const one of lines) yield { ...one, line: redact(one.line, values) };
}

export async function lastWords(
  lines: AsyncIterable<LogLine>,
  inspected: Fields,
  values: readonly string[],
  { afterMs, untilMs }: LastWordsOptions,
): Promise<FailureLog> {
  const printed: PrintedLine[] = [];
  for await (const { line, timestamp, gap } of lines) {
    const atMs = timestamp === undefined ? undefined : milliseconds(timestamp);
    const isOther =
      atMs !== undefined && (atMs <= (afterMs ?? -Infinity) || atMs > (untilMs ?? Number.POSITIVE_INFINITY));
    if (gap === undefined && !isOther)
      printed.push({ ...optional('at', timestamp), text: redact(line, values) });
  }
  return { ...boundedLines(printed), ...optional('health', healthOutput(inspected, values)) };
}

/** As Docker and Podman name them, newest last. */
function checksIn(inspected: Fields): readonly Fields[] {
  const state = fields(inspected['State']);
  return list(fields(state['Health'] ?? state['Healthcheck'])['Log']).map(fields);
}

function outputOf(check: Fields | undefined, values: readonly string[]): string {
  return redact(text(check?.['Output'])?.trim() ?? '', values).slice(-HEALTH_BYTES);
}

function healthOutput(inspected: Fields, values: readonly string[]): string | undefined {
  const output = outputOf(checksIn(inspected).at(-1), values);
  return output === '' ? undefined : output;
}

export function checkResults(inspected: Fields, values: readonly string[]): readonly CheckResult[] {
  return checksIn(inspected)
    .slice(-CHECKS_TOLD)
    .map((check) => ({
      at: (text(check['Start']) ?? '').slice(0, 40),
      ...optional('exitCode', number(check['ExitCode'])),
      output: outputOf(check, values),
    }));
}
