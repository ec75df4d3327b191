/** A text that begins with a fixed prefix of three ASCII characters or more. */
export interface PrefixedForm<Found> {
  readonly prefixes: readonly string[];
  /** Asked (sticky) where a prefix stands. Its repetitions are bounded, so a look has a bounded cost. */
  readonly pattern: RegExp;
  readonly found: Found;
  /** A closer look at the first group of the pattern. */
  readonly accepts?: (group: string) => boolean;
}

export type TokenScan<Found> = (text: string) => Found | undefined;

interface Entry<Found> {
  readonly prefix: string;
  /** NaN, which equals nothing, when the prefix has three characters. */
  readonly fourth: number;
  readonly form: PrefixedForm<Found>;
}

// No honest text holds so many prefixes without a token behind one of them.
const MAX_LOOKS = 4_000;

function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

/**
 * One pass over the text, whatever the number of forms: a token starts where no letter stands before it, two
 * characters are looked up in a table, three in a map, and only then is a pattern asked. A single expression
 * with all forms as alternatives was measured 50 times slower.
 */
export function tokenScan<Found>(forms: readonly PrefixedForm<Found>[]): TokenScan<Found> {
  const pairs = new Uint8Array(128 * 128);
  const triples = new Map<number, Entry<Found>[]>();
  for (const form of forms) {
    for (const prefix of form.prefixes) {
      const pair = prefix.charCodeAt(0) * 128 + prefix.charCodeAt(1);
      pairs[pair] = 1;
      const triple = pair * 128 + prefix.charCodeAt(2);
      triples.set(triple, [...(triples.get(triple) ?? []), { prefix, fourth: prefix.charCodeAt(3), form }]);
    }
  }

  return (text) => {
    let looks = 0;
    let before = 0;
    for (let at = 0; at < text.length - 3; at += 1) {
      const first = text.charCodeAt(at);
      const starts = !isLetter(before) && first < 128;
      before = first;
      if (!starts) continue;
      const second = text.charCodeAt(at + 1);
      if (second >= 128 || pairs[first * 128 + second] === 0) continue;
      const third = text.charCodeAt(at + 2);
      const entries = third < 128 ? triples.get((first * 128 + second) * 128 + third) : undefined;
      if (entries === undefined) continue;
      const fourth = text.charCodeAt(at + 3);
      for (const { prefix, fourth: wanted, form } of entries) {
        if ((wanted !== fourth && prefix.length > 3) || !text.startsWith(prefix, at)) continue;
        looks += 1;
        if (looks > MAX_LOOKS) return undefined;
        form.pattern.lastIndex = at;
        const match = form.pattern.exec(text);
        if (match !== null && (form.accepts === undefined || form.accepts(match[1] ?? ''))) return form.found;
      }
    }
    return undefined;
  };
}
