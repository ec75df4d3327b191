import type { Node, Scalar, YAMLMap } from 'yaml';
import { becomesWhole } from '../../core/schema/exact-number.ts';
import { yaml } from '../yaml.ts';

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

export const ROUNDED_NUMBER =
  'A number with a fraction is so close to a whole one that it would be read as that; send the number that is meant.';
const DECIMAL = /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i;

function isRounded({ value, source }: Scalar): boolean {
  return typeof value === 'number' && source !== undefined && DECIMAL.test(source) && becomesWhole(source);
}

/** What the parser would settle silently: equal keys, keys that are no text, types of other languages. */
function keyProblem(map: YAMLMap): string | undefined {
  const { isScalar } = yaml();
  const seen = new Set<string>();
  for (const { key } of map.items) {
    if (!isScalar(key)) return 'A key is not a plain text.';
    const text = String(key.value);
    if (text === '__proto__') return 'The key __proto__ is not accepted anywhere in a body.';
    if (seen.has(text)) return 'A mapping holds the same key twice; one of the two values would be lost.';
    seen.add(text);
  }
  return undefined;
}

function contentProblem(root: Node | null): string | undefined {
  const { isMap, isScalar, isSeq, visit } = yaml();
  let found: string | undefined;
  visit(root, (_key, node) => {
    if (isMap(node)) found = keyProblem(node);
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.tag !== undefined)
      found = 'A tag asks for a type that JSON does not have.';
    if (isScalar(node) && isRounded(node)) found = ROUNDED_NUMBER;
    return found === undefined ? undefined : visit.BREAK;
  });
  return found;
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
    // The library compares each key with all before it; `keyProblem` does the same in one pass.
    const document = yaml().parseDocument(text, {
      uniqueKeys: false,
      prettyErrors: false,
      version: '1.2',
      schema: 'core',
      resolveKnownTags: false,
      logLevel: 'error',
    });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) return { problem: 'malformed', why: `The body is not valid YAML: ${problem.code}.` };
    const why = contentProblem(document.contents);
    if (why !== undefined) return { problem: 'malformed', why };
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return isWithin(value, maxDepth) ? { value } : { problem: 'too_deep' };
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'too_deep' };
    return { problem: 'malformed', why: 'The body is not valid YAML.' };
  }
}
