import { exampleLines } from '../../../core/rejections/example.ts';

export interface ExampleLine {
  readonly text: string;
  /** Not in the other example. */
  readonly changed: boolean;
}

function key(line: string): string {
  return line.replace(/,$/, '');
}

/** Length of the longest common run of lines from each pair of positions on; examples have some twenty lines. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = table[i] ?? [];
      const below = table[i + 1] ?? [];
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}

/** Both examples as lines, with the lines marked that the other one does not have at that place. */
export function compareExamples(
  failing: string,
  corrected: string,
): readonly [readonly ExampleLine[], readonly ExampleLine[]] {
  const before = exampleLines(failing);
  const after = exampleLines(corrected);
  const a = before.map(key);
  const b = after.map(key);
  const lengths = commonLengths(a, b);
  const kept = { before: new Set<number>(), after: new Set<number>() };
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      kept.before.add(i);
      kept.after.add(j);
      i += 1;
      j += 1;
    } else if ((lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  const marked = (lines: readonly string[], same: ReadonlySet<number>): readonly ExampleLine[] =>
    lines.map((text, index) => ({ text, changed: text.trim() !== '' && !same.has(index) }));
  return [marked(before, kept.before), marked(after, kept.after)];
}
