/** Where a text stops being what it should be, and what is wrong there: nothing of the text itself. */
export interface TextFault {
  readonly at: number;
  readonly what: string;
}

/** For people: both from 1. */
export function placeOf(text: string, at: number): string {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return `line ${line}, column ${at - start + 1}`;
}

const EXPECTED = {
  value: 'a value',
  'first value': 'a value or ]',
  name: 'a name in double quotes',
  'first name': 'a name in double quotes or }',
  colon: 'a colon after the name',
} as const;

type Wanted = keyof typeof EXPECTED | 'next';
type Closer = '}' | ']';

interface Step {
  /** Behind what was taken. */
  readonly at: number;
  readonly wanted: Wanted;
  readonly opens?: Closer;
}

const SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Of a text in quotes; so many at a time, because what is matched is remembered part by part. */
const INSIDE = /(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,1000}/y;

/** Behind what matches there; the same: nothing does. */
function behind(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function behindQuotes(text: string, open: number): number | TextFault {
  let at = open + 1;
  for (let from = 0; from !== at; ) {
    from = at;
    at = behind(INSIDE, text, at);
  }
  if (text[at] === '"') return at + 1;
  if (at >= text.length) return { at: open, what: 'a text in double quotes has no end' };
  return {
    at,
    what:
      text[at] === '\\'
        ? 'an escape is none that JSON has'
        : 'a line break or another control character is not escaped',
  };
}

function quoted(text: string, at: number, wanted: Wanted): Step | TextFault {
  const end = behindQuotes(text, at);
  return typeof end === 'number' ? { at: end, wanted } : end;
}

/** Undefined: what is there is not what is wanted. */
function step(text: string, at: number, wanted: Wanted, closer?: Closer): Step | TextFault | undefined {
  const char = text[at];
  switch (wanted) {
    case 'next':
      if (char !== ',' || closer === undefined) return undefined;
      return { at: at + 1, wanted: closer === '}' ? 'name' : 'value' };
    case 'colon':
      return char === ':' ? { at: at + 1, wanted: 'value' } : undefined;
    case 'name':
    case 'first name':
      return char === '"' ? quoted(text, at, 'colon') : undefined;
    default:
  }
  if (char === '"') return quoted(text, at, 'next');
  if (char === '{') return { at: at + 1, wanted: 'first name', opens: '}' };
  if (char === '[') return { at: at + 1, wanted: 'first value', opens: ']' };
  const end = behind(WORD, text, at);
  return end === at ? undefined : { at: end, wanted: 'next' };
}

function expected(wanted: Wanted, closer: Closer | undefined): string {
  if (wanted !== 'next') return EXPECTED[wanted];
  return closer === undefined ? 'nothing more' : `a comma or ${closer}`;
}

/** The parser says where of some faults only, and shows what is there. Of a text that it refused; undefined: nothing is found. */
export function jsonFault(text: string): TextFault | undefined {
  const closers: Closer[] = [];
  let wanted: Wanted = 'value';
  for (let at = behind(SPACE, text, 0); ; at = behind(SPACE, text, at)) {
    const closer = closers.at(-1);
    const mayClose = wanted === 'next' || wanted === 'first value' || wanted === 'first name';
    if (at >= text.length && wanted === 'next' && closer === undefined) return undefined;
    if (mayClose && closer !== undefined && text[at] === closer) {
      closers.pop();
      wanted = 'next';
      at += 1;
      continue;
    }
    const taken = step(text, at, wanted, closer);
    if (taken === undefined) {
      const what = expected(wanted, closer);
      return {
        at,
        what: at < text.length ? `${what} is expected` : `the text ends, and ${what} is expected`,
      };
    }
    if ('what' in taken) return taken;
    if (taken.opens !== undefined) closers.push(taken.opens);
    ({ at, wanted } = taken);
  }
}
