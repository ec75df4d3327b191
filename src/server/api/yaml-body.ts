import { AS_JSON, contentFault, parserFault, UNREADABLE, type YamlFault } from '../../shared/yaml-content.ts';
import { yaml } from '../yaml.ts';
import { placeOf } from './json-fault.ts';

export type YamlProblem =
  | { readonly problem: 'too_long' }
  | { readonly problem: 'too_deep' }
  | { readonly problem: 'malformed'; readonly why: string };

/** YAML nests by indentation and by brackets; both are bounded before the parser recurses. */
const MAX_OPEN = 64;
const MAX_INDENT = 512;
/**
 * The parser takes much longer than the lexer, and for some texts longer than their length: a body within the size limit
 * could hold up the process for minutes. What a person writes has a few hundred tokens.
 */
export const YAML_MAX_TOKENS = 15_000;
/** A text of few tokens is slow, too: each is read several times. */
export const YAML_MAX_LENGTH = 64 * 1024;
const MAX_ALIASES = 100;

function nestsTooDeep(text: string): boolean {
  let open = 0;
  for (const line of text.split('\n')) {
    const solid = line.trimStart();
    if (line.length - solid.length > MAX_INDENT) return true;
    let markers = 0;
    for (let at = 0; /[-?:]/.test(solid[at] ?? '') && /[ \t]/.test(solid[at + 1] ?? ''); markers += 1) {
      at += 1;
      while (/[ \t]/.test(solid[at] ?? '')) at += 1;
      if (markers > MAX_OPEN) return true;
    }
    for (const char of line) {
      if (char === '[' || char === '{') open += 1;
      else if (char === ']' || char === '}') open -= 1;
      if (open > MAX_OPEN) return true;
    }
  }
  return false;
}

function hasTooManyTokens(text: string): boolean {
  const { Lexer } = yaml();
  let tokens = 0;
  for (const _token of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > YAML_MAX_TOKENS) return true;
  }
  return false;
}

function malformed(text: string, { at, why }: YamlFault): YamlProblem {
  return { problem: 'malformed', why: `The body is not taken as YAML: ${placeOf(text, at)}: ${why}` };
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.values(value).every((member) => isWithin(member, levels - 1));
}

/** One YAML document as the JSON value it stands for; anything that JSON could not have said is refused. */
export function parseYaml(text: string, maxDepth: number): { readonly value: unknown } | YamlProblem {
  if (text.length > YAML_MAX_LENGTH) return { problem: 'too_long' };
  if (nestsTooDeep(text)) return { problem: 'too_deep' };
  if (hasTooManyTokens(text)) return { problem: 'too_long' };
  try {
    const document = yaml().parseDocument(text, AS_JSON);
    const fault = parserFault(document) ?? contentFault(document.contents, yaml());
    if (fault !== undefined) return malformed(text, fault);
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return isWithin(value, maxDepth) ? { value } : { problem: 'too_deep' };
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'too_deep' };
    const why =
      error instanceof ReferenceError
        ? 'An alias names an anchor that is not before it, or aliases repeat too much.'
        : UNREADABLE;
    return { problem: 'malformed', why: `The body is not taken as YAML: ${why}` };
  }
}
