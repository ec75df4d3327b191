import type { Document } from 'yaml';
import { AS_JSON, sendingFault, type YamlFault } from '../shared/yaml-content.ts';
import { usage } from './failure.ts';
import { type PlaceOf, placesIn } from './set/places.ts';

/** What the parser complains of: its own messages repeat the line, which may hold a credential and end up in a log of CI. */
const COMPLAINTS: Readonly<Record<string, string>> = {
  BAD_DIRECTIVE: 'A line that begins with % is no directive.',
  BAD_DQ_ESCAPE: 'A text in double quotes has an escape that YAML does not know; \\\\ is a backslash.',
  BAD_INDENT: 'The indentation does not fit the lines around it, or a bracket is not closed.',
  BAD_SCALAR_START: 'A text cannot begin with this character; put the text in quotes.',
  BLOCK_AS_IMPLICIT_KEY: 'A mapping or list cannot begin here; a text with a colon and a space needs quotes.',
  BLOCK_IN_FLOW: 'An indented mapping or list stands inside brackets.',
  MISSING_CHAR: 'A quote, bracket, comma, colon or space is missing.',
  MULTILINE_IMPLICIT_KEY: 'A key goes over several lines, or a line lacks its colon.',
  TAB_AS_INDENT: 'A tab indents the line; YAML takes spaces.',
  TAG_RESOLVE_FAILED: 'A tag asks for a type that JSON does not have.',
  UNEXPECTED_TOKEN: 'What stands here cannot stand here.',
};

function complaint({ errors, warnings }: Document): YamlFault | undefined {
  const [first] = [...errors, ...warnings];
  if (first === undefined) return undefined;
  return { why: COMPLAINTS[first.code] ?? `It is not well-formed (${first.code}).`, at: first.pos[0] };
}

export interface YamlDocument {
  readonly value: unknown;
  /** Where a field is: `web.yaml:12:5`. */
  readonly placeOf: PlaceOf;
}

/** Every document of a text as the JSON value it stands for; anything that JSON could not have said is refused, with line and column. */
export async function readYaml(text: string, source: string): Promise<readonly YamlDocument[]> {
  const library = await import('yaml');
  const lineCounter = new library.LineCounter();
  const documents = library.parseAllDocuments(text, { ...AS_JSON, lineCounter });
  if (!Array.isArray(documents)) return [];
  const refuse = (what: string, { why, at }: YamlFault): never => {
    const { line, col } = lineCounter.linePos(at);
    throw usage(`${source}:${line}:${col} ${what}: ${why}`);
  };
  const read: YamlDocument[] = [];
  for (const document of documents) {
    const broken = complaint(document);
    if (broken !== undefined) refuse('is not valid YAML', broken);
    const { contents } = document;
    const altered = sendingFault(contents, library);
    if (altered !== undefined) refuse('cannot be sent as it is', altered);
    const placeIn = await placesIn(document, lineCounter);
    read.push({ value: valueOf(document, source), placeOf: (field) => `${source}:${placeIn(field)}` });
  }
  return read;
}

/** Aliases may not multiply a small file into a large one. */
const MAX_ALIASES = 100;

function valueOf(document: Document, source: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    throw usage(
      `${source} is not valid YAML: an alias (*name) has no anchor before it, or there are more than ${MAX_ALIASES}`,
      ['A text that begins with * needs quotes.'],
    );
  }
}
