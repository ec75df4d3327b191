import { isIntegerWithin, isRecord } from '../model/values.ts';
import type { ChoiceShape, Message, MessageShape, ObjectShape, TextShape } from './message-shape.ts';

/** Of text for people. */
const MAX_WORDS = 1024;
const MAX_DEPTH = 32;

type Read = (value: unknown) => unknown;
type Fields = Readonly<Record<string, unknown>>;

/** One for all: where a thousand messages are wrong, a thousand stacks help nobody. */
class Malformed extends Error {}
const MALFORMED = new Malformed('malformed');

function malformed(): never {
  throw MALFORMED;
}

function record(value: unknown): Fields {
  return isRecord(value) ? value : malformed();
}

/**
 * Compiled once from a shape. What comes out has the known fields only, in bounds. Unknown fields, of a newer version, are passed
 * over; an optional one that is null is absent. Undefined: malformed, or of an unknown tag.
 */
export function messageReader<const S extends MessageShape>(
  source: S,
): (value: unknown) => Message<S> | undefined {
  const read = reader(source);
  return (value) => {
    try {
      return read(value) as Message<S>;
    } catch (error) {
      if (error === MALFORMED) return undefined;
      throw error;
    }
  };
}

/** The same of a text, which may not be JSON, or be nested so deeply that it cannot be parsed. */
export function frameReader<const S extends MessageShape>(
  source: S,
): (frame: string) => Message<S> | undefined {
  const read = messageReader(source);
  return (frame) => {
    let value: unknown;
    try {
      value = JSON.parse(frame);
    } catch {
      return undefined;
    }
    return read(value);
  };
}

function reader(source: MessageShape): Read {
  switch (source.type) {
    case 'string':
      return textReader(source);
    case 'integer': {
      const { least = Number.MIN_SAFE_INTEGER } = source;
      return (value) => (isIntegerWithin(value, least, Number.MAX_SAFE_INTEGER) ? value : malformed());
    }
    case 'number': {
      const { least = Number.NEGATIVE_INFINITY } = source;
      return (value) =>
        typeof value === 'number' && Number.isFinite(value) && value >= least ? value : malformed();
    }
    case 'boolean':
      if (source.orNot) return (value) => value === true;
      return (value) => (typeof value === 'boolean' ? value : malformed());
    case 'any': {
      const { maxParts } = source;
      return (value) => (maxParts === undefined || isBounded(value, maxParts) ? value : malformed());
    }
    case 'list': {
      const { max = Number.POSITIVE_INFINITY } = source;
      const read = reader(source.items);
      return (value) =>
        Array.isArray(value) && value.length <= max ? value.map((item) => read(item)) : malformed();
    }
    case 'map':
      return mapReader(source.items, source.max);
    case 'object':
      return objectReader(source);
    case 'choice':
      return choiceReader(source);
    case 'absent':
      return malformed;
  }
}

function tagOf(word: string): unknown {
  return word === 'true' ? true : word === 'false' ? false : word;
}

function textReader({ values, open, max, fits, anyUnicode, mended }: TextShape): Read {
  if (mended === 'prose') return (value) => (typeof value === 'string' ? cleaned(value) : malformed());
  if (mended === 'unicode')
    return (value) => (typeof value === 'string' ? value.toWellFormed() : malformed());
  if (values !== undefined && !open) {
    const known = new Set<unknown>(values);
    return (value) => (known.has(value) ? value : malformed());
  }
  const longest = max ?? Number.POSITIVE_INFINITY;
  const hasForm = fits instanceof RegExp ? (text: string) => fits.test(text) : (fits ?? (() => true));
  return (value) =>
    typeof value === 'string' &&
    value.length <= longest &&
    (anyUnicode || value.isWellFormed()) &&
    hasForm(value)
      ? value
      : malformed();
}

function cleaned(text: string): string {
  return text
    .slice(0, MAX_WORDS)
    .toWellFormed()
    .replaceAll(/(?![\t\n])\p{Cc}/gu, ' ');
}

/** The object itself: all that it holds was read, and a key may be any, `__proto__` too. */
function mapReader(items: TextShape, max = Number.POSITIVE_INFINITY): Read {
  const read = textReader(items);
  const readKey = textReader({
    type: 'string',
    ...(items.anyUnicode ? { anyUnicode: true } : { max: 1024 }),
  });
  return (value) => {
    const source = record(value);
    const keys = Object.keys(source);
    if (keys.length > max) malformed();
    for (const key of keys) {
      readKey(key);
      read(source[key]);
    }
    return value;
  };
}

function choiceReader({ by, of }: ChoiceShape, tag: Fields = {}): Read {
  const cases = new Map(
    Object.entries(of).map(([word, one]) => {
      const tags = { ...tag, [by]: tagOf(word) };
      return [tagOf(word), one.type === 'choice' ? choiceReader(one, tags) : objectReader(one, tags)];
    }),
  );
  return (value) => (cases.get(record(value)[by]) ?? malformed)(value);
}

function objectReader({ fields, fits }: ObjectShape, tag: Fields = {}): Read {
  const readers = Object.entries(fields)
    .filter(([, { type }]) => type !== 'absent')
    .map(([key, field]) => ({
      key,
      read: reader(field),
      isOptional: field.optional === true,
      takesNull: field.type === 'any',
    }));
  return (value) => {
    const source = record(value);
    const found: Record<string, unknown> = { ...tag };
    for (const { key, read, isOptional, takesNull } of readers) {
      const member = source[key];
      if (isOptional && (member === undefined || (member === null && !takesNull))) continue;
      found[key] = read(member);
    }
    return fits === undefined || fits(found) ? found : malformed();
  };
}

/** Level by level, so that depth is counted and not walked into. */
export function isBounded(value: unknown, maxParts: number): boolean {
  let parts = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return false;
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      for (const member of Object.values(one)) {
        parts += 1;
        if (parts > maxParts) return false;
        next.push(member);
      }
    }
    level = next;
  }
  return true;
}
