import { isRecord, parseJson } from '../../model/values.ts';
import { detectCredential, detectInText } from './detect.ts';

/** Shorter values occur in any text by chance. */
export const SHORTEST_KNOWN = 6;
/** A line of a value that has several, such as a key file. */
const SHORTEST_LINE = 16;
/** What is searched in one step: rules look at no more than 128 KiB of a text. */
export const PIECE_LENGTH = 32_768;
/** Bytes of a long value become text in pieces: an array of all of them takes many times their memory. */
const BYTES_AT_ONCE = 8192;
const HEX = Array.from({ length: 256 }, (_none, byte) => byte.toString(16).padStart(2, '0'));
const PRIVATE_KEYS =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END )[\s\S]){0,65536}(?:-----END [A-Z0-9 ]{0,40}-----)?/g;

export interface Scrubbed {
  readonly text: string;
  readonly redactions: number;
}

function mark(rule: string): string {
  // No rule takes what begins so for a credential.
  return `<redacted: ${rule}>`;
}

function textOf(bytes: Uint8Array, pieceText: (piece: Uint8Array) => string): string {
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; from += BYTES_AT_ONCE)
    pieces.push(pieceText(bytes.subarray(from, from + BYTES_AT_ONCE)));
  return pieces.join('');
}

/** As it may stand in a text: as it is, in JSON, in a URL, in base64 and in hex. */
function formsOf(value: string): readonly string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const utf8 = new TextEncoder().encode(value);
  const base64 = btoa(textOf(utf8, (piece) => String.fromCharCode(...piece))).replaceAll('=', '');
  const hex = textOf(utf8, (piece) => Array.from(piece, (byte) => HEX[byte]).join(''));
  const inUrl = value.isWellFormed() ? encodeURIComponent(value) : value;
  const base64url = base64.replaceAll('+', '-').replaceAll('/', '_');
  return [value, inJson, inUrl, base64, base64url, hex];
}

/** Of a value: itself, and its lines. */
function partsOf(value: string): readonly string[] {
  const lines = value.split('\n').filter((line) => line.length >= SHORTEST_LINE);
  return [value.trim(), ...lines].filter((part) => part.length >= SHORTEST_KNOWN);
}

/** Takes credentials out of texts that leave the installation: values that are known, and whatever the rules for credentials find. */
export class Scrubber {
  /** By their first characters. */
  readonly #known = new Map<string, Set<string>>();

  constructor(values: Iterable<string>) {
    for (const value of values) this.learn(value);
  }

  /** One more value that is searched for. */
  learn(value: string): void {
    for (const part of partsOf(value))
      for (const form of formsOf(part)) {
        const start = form.slice(0, SHORTEST_KNOWN);
        const same = this.#known.get(start);
        if (same === undefined) this.#known.set(start, new Set([form]));
        else same.add(form);
      }
  }

  /** Nothing of what is left is a credential by any rule. */
  scrub(text: string): Scrubbed {
    const steps = this.steps(text);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  /** The same in steps of some milliseconds: a long text leaves others their turn. */
  *steps(text: string): Generator<undefined, Scrubbed> {
    let redactions = 0;
    const withoutKeys = text.replace(PRIVATE_KEYS, () => {
      redactions += 1;
      return mark('private_key');
    });
    const known = yield* this.#withoutKnown(withoutKeys);
    const out: string[] = [];
    for (const piece of piecesOf(known.text)) {
      const found = withoutFound(piece);
      redactions += found.redactions;
      out.push(found.text);
      yield undefined;
    }
    return { text: out.join(''), redactions: redactions + known.redactions };
  }

  *#withoutKnown(text: string): Generator<undefined, Scrubbed> {
    if (this.#known.size === 0) return { text, redactions: 0 };
    const parts: string[] = [];
    let from = 0;
    // Values that begin alike are each compared wherever a text begins so: that is work, too.
    let work = 0;
    for (let at = 0; at + SHORTEST_KNOWN <= text.length; at += 1) {
      const same = this.#known.get(text.slice(at, at + SHORTEST_KNOWN));
      work += 1 + (same?.size ?? 0);
      if (work >= PIECE_LENGTH) {
        yield undefined;
        work = 0;
      }
      let found: string | undefined;
      for (const form of same ?? [])
        if (form.length > (found?.length ?? 0) && text.startsWith(form, at)) found = form;
      if (found === undefined) continue;
      parts.push(text.slice(from, at), mark('known_value'));
      from = at + found.length;
      at = from - 1;
    }
    return { text: parts.join('') + text.slice(from), redactions: parts.length / 2 };
  }
}

/** Whole lines; a line that is longer than a piece is cut between two words. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = text.length;
    if (to - from > PIECE_LENGTH) {
      const line = text.lastIndexOf('\n', from + PIECE_LENGTH);
      const end =
        line > from
          ? line
          : Math.max(...[',', ' '].map((mark) => text.lastIndexOf(mark, from + PIECE_LENGTH)));
      to = (end > from ? end : from + PIECE_LENGTH) + 1;
    }
    yield text.slice(from, to);
    from = to;
  }
}

function withoutFound(text: string): Scrubbed {
  // Lines may be texts of their own with credentials that only the name of their key tells, so that JSON is always read.
  let redactions = 0;
  const lines = text.split('\n').map((line) => {
    const cleaned = line.startsWith('{') ? jsonLine(line) : textLine(line);
    redactions += cleaned.redactions;
    return cleaned.text;
  });
  const joined = lines.join('\n');
  const left = detectInText('', joined);
  if (left === undefined) return { text: joined, redactions };
  // It stands over several lines: which of them it is cannot be told apart, so that none of them stays.
  return { text: `${mark(left.rule)}${joined.endsWith('\n') ? '\n' : ''}`, redactions: redactions + 1 };
}

function textLine(line: string): Scrubbed {
  const found = detectInText('', line) ?? wordFinding(line);
  return found === undefined ? { text: line, redactions: 0 } : { text: mark(found.rule), redactions: 1 };
}

/** Encoded credentials are found only where they are a value by themselves. */
function wordFinding(line: string): ReturnType<typeof detectInText> {
  for (const word of line.split(/[\s"'=,;<>(){}[\]]+/)) {
    if (word.length < 24) continue;
    const found = detectInText('', word);
    if (found !== undefined) return found;
  }
  return undefined;
}

function jsonLine(line: string): Scrubbed {
  const parsed = parseJson(line);
  if (!isRecord(parsed)) return textLine(line);
  let redactions = 0;
  const clean = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      const found = detectCredential(key, value) ?? wordFinding(value);
      if (found === undefined) return value;
      redactions += 1;
      return mark(found.rule);
    }
    if (Array.isArray(value)) return value.map((member) => clean(member, key));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [nameOf(name), clean(member, name)]),
    );
  };
  const nameOf = (name: string): string => {
    const found = detectInText('', name);
    if (found === undefined) return name;
    redactions += 1;
    return mark(found.rule);
  };
  const cleaned = clean(parsed, '');
  return redactions === 0 ? { text: line, redactions } : { text: JSON.stringify(cleaned), redactions };
}
