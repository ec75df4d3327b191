import type { Node, Scalar, YAMLMap } from 'yaml';
import { becomesWhole, ROUNDED_NUMBER } from '../core/schema/exact-number.ts';

/** The parser, given by who has loaded it. */
type Library = Pick<typeof import('yaml'), 'isMap' | 'isScalar' | 'isSeq' | 'visit'>;

/** What is wrong with a document, and where in its text. */
export interface YamlFault {
  /** Never a word of the text, which may hold a credential. */
  readonly why: string;
  readonly at: number;
}

/** For a document that is to be a JSON value. The parser compares each key with all before it; `contentFault` does the same in one pass. */
export const AS_JSON = {
  uniqueKeys: false,
  prettyErrors: false,
  version: '1.2',
  schema: 'core',
  resolveKnownTags: false,
  logLevel: 'error',
} as const;

const DECIMAL = /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i;

function isRounded({ value, source }: Scalar): boolean {
  return typeof value === 'number' && source !== undefined && DECIMAL.test(source) && becomesWhole(source);
}

function keyFault(map: YAMLMap, { isScalar }: Library): YamlFault | undefined {
  const seen = new Set<string>();
  for (const { key } of map.items) {
    if (!isScalar(key)) return { why: 'A key is not a plain text.', at: map.range?.[0] ?? 0 };
    const at = key.range?.[0] ?? 0;
    const text = String(key.value);
    if (text === '__proto__') return { why: 'The key __proto__ is not accepted anywhere in a body.', at };
    if (seen.has(text))
      return { why: 'A mapping holds the same key twice; one of the two values would be lost.', at };
    seen.add(text);
  }
  return undefined;
}

/** What the parser would settle silently: equal keys, keys that are no text, types of other languages. */
export function contentFault(root: Node | null, library: Library): YamlFault | undefined {
  const { isMap, isScalar, isSeq, visit } = library;
  let found: YamlFault | undefined;
  visit(root, (_key, node) => {
    if (isMap(node)) found = keyFault(node, library);
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.tag !== undefined)
      found = { why: 'A tag asks for a type that JSON does not have.', at: node.range?.[0] ?? 0 };
    if (isScalar(node) && isRounded(node)) found = { why: ROUNDED_NUMBER, at: node.range?.[0] ?? 0 };
    return found === undefined ? undefined : visit.BREAK;
  });
  return found;
}

/** In JSON they would be null, which stands for the usual value of a field. */
function numberFault(root: Node | null, { visit }: Library): YamlFault | undefined {
  let found: YamlFault | undefined;
  visit(root, {
    Scalar: (_key, { value, range }) => {
      if (typeof value !== 'number' || Number.isFinite(value)) return undefined;
      found = {
        why: 'JSON has no such number: it is infinite, too large or not a number.',
        at: range?.[0] ?? 0,
      };
      return visit.BREAK;
    },
  });
  return found;
}

/** Of a document that is sent on as JSON. */
export function sendingFault(root: Node | null, library: Library): YamlFault | undefined {
  return contentFault(root, library) ?? numberFault(root, library);
}
