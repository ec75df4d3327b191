import type { Document } from 'yaml';
import { AS_JSON, parserFault, sendingFault, type YamlFault } from '../shared/yaml-content.ts';
import { usage } from './failure.ts';
import { type PlaceOf, placesIn } from './set/places.ts';

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
    const broken = parserFault(document);
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
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    // Throws where an alias is within what it stands for.
    JSON.stringify(value);
    return value;
  } catch (error) {
    if (error instanceof TypeError)
      throw usage(`${source} is not valid YAML: an alias stands for something that it is part of`);
    throw usage(
      `${source} is not valid YAML: an alias (*name) has no anchor before it, or there are more than ${MAX_ALIASES}`,
      ['A text that begins with * needs quotes.'],
    );
  }
}
