/** What differs from run to run and machine to machine, on both sides of a comparison. */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
  [/\bberth_(?:pat|join|node)_\S*/g, '<token>'],
  [/\b[a-z]{3,5}_[0-9a-hjkmnp-tv-z]{26}\b/g, '<id>'],
  [/\b(?:tok|token|join)_?[0-9a-hjkmnp-tv-z]{20,32}\b/g, '<id>'],
  [/\breq_\w+/g, '<id>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, '<time>'],
  [/\b\d\d:\d\d:\d\d\b/g, '<time>'],
  [/\b[0-9a-f]{8,64}\b/g, '<hex>'],
  // What people call an instance.
  [/\b([a-z][a-z0-9-]*)-(?:<hex>|[0-9a-hjkmnp-tv-z]{8}\b)/g, '$1-<id>'],
  [/\brevision"?:? ?\d+/g, 'revision <n>'],
  // The archive of a name goes on over its deletion, so a page's first version depends on the pages before it.
  [/\bversion \d+(?! of)/g, 'version <n>'],
  [/\b\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b/g, '<span>'],
  [/\b(?:\d+[dhms]){2,}\b/g, '<span>'],
  // How long a wait took is told only when there was one.
  [/ \(<span>\)$/g, ''],
  [/\b\d+(?:\.\d+)? (?:TiB|GiB|MiB|KiB|B)\b/g, '<size>'],
  [/\b\d+ CPU\b/g, '<n> CPU'],
  [/\bcpu\s+\d+|\b\d+\s+<size>/g, '<cpu>'],
  // Of Berth and of the engines; not the tag of an image, nor an address.
  [/(?<![\w.:])\d+\.\d+\.\d+(?:[-+~][\w.~+-]*)?(?!\.?\d)/g, '<version>'],
  [/\b(?:amd64|arm64|x86_64|x86-64|aarch64)\b/g, '<architecture>'],
  [/\b\d+ %/g, '<n> %'],
  [/-{2,}|─+/g, '--'],
];

export function normal(line: string): string {
  return VARIABLE.reduce((text, [pattern, by]) => text.replace(pattern, by), line)
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const ANY = '…';
/** What a wait says meanwhile, where no terminal shows it as one moving line: as many lines as there was time for. */
const MEANWHILE =
  /^ {2}(?:[a-z0-9-]+-[0-9a-z]{8} on [\w.-]+: |canary of .*healthy(?:;|$)|[a-z0-9/-]+(?: healthy)?: (?:(?:Pending|Waiting|Retrying|Progressing|Running|Degraded|Stopped): |not (?:looked at|reconciled) |pending on |starting on |starts on |runs on |attempt \d+ ))/;

/** As it is written into a page: without what was said meanwhile, and without tokens. */
export function printable(lines: readonly string[]): readonly string[] {
  return lines
    .filter((line) => !MEANWHILE.test(line))
    .map((line) => line.replaceAll(/\b(berth_(?:pat|join|node)_)\S+/g, `$1${ANY}`));
}

function fits(expected: string, line: string): boolean {
  const parts = expected
    .split(ANY)
    .map((part) => normal(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  // Spaces beside the dots were trimmed with their part.
  return new RegExp(`^${parts.join('.*')}$`, 'u').test(normal(line));
}

/**
 * Line by line; `…` stands for any text in a line, and a line of it alone for any number of lines. Empty lines do not count.
 * Undefined when it fits, else the first expected line that does not.
 */
export function mismatch(expected: readonly string[], actual: readonly string[]): string | undefined {
  const wanted = expected.filter((line) => line.trim() !== '');
  const found = actual.filter((line) => line.trim() !== '' && !MEANWHILE.test(line));
  let at = 0;
  let anyNumber = false;
  for (const line of wanted) {
    if (line.trim() === ANY) {
      anyNumber = true;
      continue;
    }
    const next = anyNumber
      ? found.findIndex((candidate, index) => index >= at && fits(line, candidate))
      : fits(line, found[at] ?? '')
        ? at
        : -1;
    if (next === -1) return line;
    at = next + 1;
    anyNumber = false;
  }
  return anyNumber || at >= found.length ? undefined : `(nothing more, but there was: ${found[at] ?? ''})`;
}
