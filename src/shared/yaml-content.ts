import type { Document, ErrorCode, Node, Scalar, YAMLMap } from 'yaml';
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

export const UNREADABLE = 'Something cannot be read.';
const TAGGED = 'A tag is not accepted; put a text in quotes and leave the tag out.';

/** What the parser finds: its own messages repeat the line, which may hold a credential and end up in a log. */
const FOUND: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'An alias has an anchor or a tag of its own.',
  BAD_ALIAS: 'An alias has no name.',
  BAD_COLLECTION_TYPE: 'A tag asks for another kind of collection than there is.',
  BAD_DIRECTIVE: 'A line that begins with % is no directive.',
  BAD_DQ_ESCAPE: 'A text in double quotes has an escape that YAML does not know; \\\\ is a backslash.',
  BAD_INDENT: 'The indentation does not fit the lines around it, or a bracket is not closed.',
  BAD_PROP_ORDER: 'An anchor or a tag is in the wrong place.',
  BAD_SCALAR_START: 'A text cannot begin with this character; put the text in quotes.',
  BLOCK_AS_IMPLICIT_KEY: 'A mapping or list cannot begin here; a text with a colon and a space needs quotes.',
  BLOCK_IN_FLOW: 'An indented mapping or list stands inside brackets.',
  DUPLICATE_KEY: 'A mapping holds the same key twice.',
  IMPOSSIBLE: UNREADABLE,
  KEY_OVER_1024_CHARS: 'A key has more than 1,024 characters.',
  MISSING_CHAR: 'A quote, bracket, comma, colon or space is missing.',
  MULTILINE_IMPLICIT_KEY: 'A key goes over several lines, or a line lacks its colon.',
  MULTIPLE_ANCHORS: 'A value has two anchors.',
  MULTIPLE_DOCS: 'A second document begins.',
  MULTIPLE_TAGS: 'A value has two tags.',
  NON_STRING_KEY: 'A key is not a plain text.',
  RESOURCE_EXHAUSTION: 'Its parts are nested too deep or repeated too often.',
  TAB_AS_INDENT: 'A tab indents the line; YAML takes spaces.',
  TAG_RESOLVE_FAILED: TAGGED,
  UNEXPECTED_TOKEN: 'What stands here cannot stand here.',
};

export function parserFault({ errors, warnings }: Document): YamlFault | undefined {
  const [first] = [...errors, ...warnings];
  return first === undefined ? undefined : { why: FOUND[first.code], at: first.pos[0] };
}

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
      found = { why: TAGGED, at: node.range?.[0] ?? 0 };
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
