import { becomesWhole, isDigit } from './exact-number.ts';

export type ScanProblem = 'too_deep' | 'too_many' | 'duplicate_key' | 'prototype_key' | 'rounded_number';

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const DOT = 46;
const LETTER_E = 101;
/** So many characters with a dot among them hold no more digits than a number keeps. */
const ALWAYS_EXACT = 16;
const REST_OF_NUMBER = /[-+.\deE]*/y;

/** Index of the closing quote of the string that starts at `open`; the text's length when it never closes. */
function closingQuote(text: string, open: number): number {
  const first = text.indexOf('"', open + 1);
  if (first === -1) return text.length;
  if (text.charCodeAt(first - 1) !== BACKSLASH) return first;
  // Looking for one quote after another would be slow where each of a megabyte of them is escaped.
  for (let index = text.indexOf('\\', open + 1); index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (char === BACKSLASH) index += 1;
    else if (char === QUOTE) return index;
  }
  return text.length;
}

function nextSolid(text: string, from: number): number {
  let index = from;
  while (index < text.length && text.charCodeAt(index) <= 32) index += 1;
  return index;
}

/** Index behind the number whose first dot or exponent is at `mark`; -1 when the number is rounded to a whole one. */
function endOfExactNumber(text: string, mark: number): number {
  let start = mark;
  while (start > 0 && isDigit(text.charCodeAt(start - 1))) start -= 1;
  let end = mark + 1;
  while (isDigit(text.charCodeAt(end))) end += 1;
  const hasExponent = text.charCodeAt(mark) !== DOT || (text.charCodeAt(end) | 32) === LETTER_E;
  if (!hasExponent && end - start <= ALWAYS_EXACT) return end;
  REST_OF_NUMBER.lastIndex = mark;
  REST_OF_NUMBER.test(text);
  return becomesWhole(text.slice(start, REST_OF_NUMBER.lastIndex)) ? -1 : REST_OF_NUMBER.lastIndex;
}

/**
 * One pass before JSON.parse, because the parser recurses (a deep body would exhaust the stack) and keeps only the
 * last of two equal keys and rounds numbers (silent alterations). Broken JSON is left to the parser.
 *
 * It also counts members, of lists and objects together, by their commas and brackets: a short text can hold so many that reading them
 * takes long.
 */
export function scanJson(
  text: string,
  maxDepth: number,
  maxMembers = Number.POSITIVE_INFINITY,
): ScanProblem | undefined {
  const keys: (Set<string> | undefined)[] = [];
  let members = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    const opens = char === 123 /* { */ || char === 91; /* [ */
    if (opens || char === COMMA) {
      members += 1;
      if (members > maxMembers) return 'too_many';
    }
    if (opens) {
      if (keys.length === maxDepth) return 'too_deep';
      keys.push(char === 123 ? new Set() : undefined);
    } else if (char === 125 /* } */ || char === 93 /* ] */) {
      keys.pop();
    } else if (char === QUOTE) {
      const close = closingQuote(text, index);
      const inside = keys.at(-1);
      if (inside && text.charCodeAt(nextSolid(text, close + 1)) === 58 /* : */) {
        let key = text.slice(index + 1, close);
        if (key.includes('\\')) {
          try {
            key = String(JSON.parse(`"${key}"`));
          } catch {
            return undefined;
          }
        }
        if (key === '__proto__') return 'prototype_key';
        if (inside.has(key)) return 'duplicate_key';
        inside.add(key);
      }
      index = close;
    } else if (char === DOT || ((char | 32) === LETTER_E && isDigit(text.charCodeAt(index - 1)))) {
      const end = endOfExactNumber(text, index);
      if (end === -1) return 'rounded_number';
      index = end - 1;
    }
  }
  return undefined;
}
