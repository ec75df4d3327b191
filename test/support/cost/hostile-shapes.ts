import type { Schema } from '../openapi-fuzz.ts';

/** Just below what a body may be: a larger one is refused by its length alone. */
export const MOST_BYTES = 2 ** 20 - 2048;
/** YAML ends earlier. */
export const MOST_YAML_BYTES = 64 * 1024 - 64;
/** Of all headers and the path together, with room for what a client adds. */
const MOST_HEADER_BYTES = 15_000;

/** Repeated until the bytes are used up; `{n}` in it counts. */
export function filled(part: string, bytes: number): string {
  if (!part.includes('{n}')) return part.repeat(Math.floor(bytes / Buffer.byteLength(part)));
  const parts: string[] = [];
  for (let left = bytes, count = 0; ; count += 1) {
    const next = part.replaceAll('{n}', String(count));
    left -= next.length;
    if (left < 0) return parts.join('');
    parts.push(next);
  }
}

function json(open: string, part: string, close: string, bytes = MOST_BYTES): string {
  return `${open}${filled(part, bytes).replace(/,$/, '')}${close}`;
}

/** Documents of the largest size that mean nothing in particular. */
export const DOCUMENTS: Readonly<Record<string, () => string>> = {
  'spaces alone': () => `{${' '.repeat(MOST_BYTES)}}`,
  'a text': () => json('{"name":"', 'a', '"}'),
  'a text of escapes': () => json('{"name":"', '\\u0061', '"}'),
  'a text of halves of characters': () => json('{"name":"', '\\ud800', '"}'),
  'a text of wide characters': () => json('{"name":"', '🚢', '"}'),
  'a text of combining marks': () => json('{"name":"', 'e\u0301', '"}'),
  'a text that does not end': () => `{"name":"${'\\"'.repeat(MOST_BYTES / 2)}`,
  'a key': () => json('{"', 'a', '":1}'),
  'many keys': () => json('{', '"k{n}":1,', '}'),
  'many keys like numbers': () => json('{', '"{n}":1,', '}'),
  'many keys like large numbers': () => json('{', '"4{n}00001":1,', '}'),
  'many keys that are escaped': () => json('{', '"\\u006b{n}":1,', '}'),
  'the same key at both ends': () => `{"a":1,${filled('"k{n}":1,', MOST_BYTES)}"a":2}`,
  'many empty objects': () => json('{"ports":[', '{},', ']}'),
  'many empty lists': () => json('[', '[],', ']'),
  'many nulls': () => json('{"secrets":[', 'null,', ']}'),
  'deep objects, side by side': () => json('{"labels":[', `${'{"a":'.repeat(28)}1${'}'.repeat(28)},`, ']}'),
  'levels that never close': () => '['.repeat(MOST_BYTES),
  'a number of a million digits': () => json('{"replicas":', '9', '}'),
  'a fraction of a million digits': () => json('{"replicas":0.', '3', '}'),
  'an exponent of a million digits': () => json('{"replicas":1e', '9', '}'),
  'many numbers': () => json('{"command":[', '1e-7{n},', ']}'),
};

export const YAML_DOCUMENTS: Readonly<Record<string, () => string>> = {
  'many keys': () => filled('k{n}: v\n', MOST_YAML_BYTES),
  'many entries': () => filled('- a\n', MOST_YAML_BYTES),
  'newlines alone': () => '\n'.repeat(MOST_YAML_BYTES),
  'spaces alone': () => ' '.repeat(MOST_YAML_BYTES),
  'a plain text over many lines': () => `name: a\n${filled('  b c\n', MOST_YAML_BYTES - 20)}`,
  'a block text': () => `name: |\n${filled('  b\n', MOST_YAML_BYTES - 20)}`,
  'a folded text': () => `name: >\n${filled('  b\n\n', MOST_YAML_BYTES - 20)}`,
  'a quoted text of escapes': () => `name: "${filled('\\x41', MOST_YAML_BYTES - 20)}"`,
  'comments alone': () => filled('# {n}\n', MOST_YAML_BYTES),
  'many anchors': () => filled('k{n}: &a{n} v\n', MOST_YAML_BYTES),
  'many aliases': () => `a: &a x\n${filled('k{n}: *a\n', MOST_YAML_BYTES - 20)}`,
  'a flow of lists': () => `[${filled('[],', MOST_YAML_BYTES - 20)}]`,
  'a flow of keys': () => `{${filled('k{n},', MOST_YAML_BYTES - 20)}}`,
  'indentation to the limit': () => filled(`${' '.repeat(500)}a:\n`, MOST_YAML_BYTES),
  'open brackets line by line': () => filled('- [\n', MOST_YAML_BYTES),
  'questions without answers': () => filled('? a{n}\n', MOST_YAML_BYTES),
  'many tags': () => filled('- !!str a\n', MOST_YAML_BYTES),
  'many documents': () => filled('---\na\n', MOST_YAML_BYTES),
  'colons alone': () => ':'.repeat(MOST_YAML_BYTES),
  'quotes alone': () => '"'.repeat(MOST_YAML_BYTES),
  'carriage returns': () => '\r'.repeat(MOST_YAML_BYTES),
};

/** Texts of this size at which a reader of names, templates, times, paths or images may take long. */
export const LONG_TEXTS: Readonly<Record<string, (bytes: number) => string>> = {
  letters: (bytes) => 'a'.repeat(bytes),
  spaces: (bytes) => `a${' '.repeat(bytes - 2)}b`,
  templates: (bytes) => filled('{{secret.a.b}}', bytes),
  'open templates': (bytes) => filled('{{secret.', bytes),
  slashes: (bytes) => '/'.repeat(bytes),
  'steps upwards': (bytes) => filled('a/../', bytes),
  digits: (bytes) => '9'.repeat(bytes),
  'labels of a name': (bytes) => filled('a.', bytes),
  'parts of a schedule': (bytes) => filled('*/1,', bytes),
  'wide characters': (bytes) => filled('🚢', bytes),
  newlines: (bytes) => '\n'.repeat(bytes),
};

/** By name: headers, or what follows the path. */
export const HEADERS: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>> = {
  ...Object.fromEntries(
    [
      'accept',
      'accept-encoding',
      'accept-language',
      'content-type',
      'cookie',
      'if-match',
      'if-none-match',
      'idempotency-key',
      'forwarded',
      'origin',
      'range',
      'user-agent',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-request-id',
      'x-tenant-id',
      'last-event-id',
    ].flatMap((name) => [
      [`${name} of spaces`, { [name]: `a${' '.repeat(MOST_HEADER_BYTES)}b` }],
      [`${name} of commas`, { [name]: filled('a,', MOST_HEADER_BYTES) }],
      [`${name} of quotes`, { [name]: filled('W/"a", ', MOST_HEADER_BYTES) }],
      [`${name} of pairs`, { [name]: filled('a{n}=b;q=0.1; ', MOST_HEADER_BYTES).trimEnd() }],
    ]),
  ),
  'a token of 15,000 letters': { authorization: `Bearer ${'a'.repeat(MOST_HEADER_BYTES)}` },
  'a token of spaces': { authorization: `Bearer ${' '.repeat(MOST_HEADER_BYTES)}x` },
  'a host of 15,000 labels': { host: filled('a.', MOST_HEADER_BYTES) },
  'many headers': Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`x-${at}`, 'a'])),
  'the same header many times': { 'x-many': Array.from({ length: 900 }, () => 'a') },
};

export const QUERIES: Readonly<Record<string, string>> = {
  'many parameters': filled('a{n}=1&', MOST_HEADER_BYTES),
  'many nested parameters': filled('a[b][c]=1&', MOST_HEADER_BYTES),
  'ampersands alone': '&'.repeat(MOST_HEADER_BYTES),
  'equals signs alone': '='.repeat(MOST_HEADER_BYTES),
  'the limit many times': filled('limit=1&', MOST_HEADER_BYTES),
  'a limit of many digits': `limit=${'9'.repeat(MOST_HEADER_BYTES)}`,
  'a cursor of letters': `cursor=${'a'.repeat(MOST_HEADER_BYTES)}`,
  'a cursor of brackets': `cursor=${Buffer.from('['.repeat(10_000)).toString('base64url')}`,
  'a parameter of escapes': `cursor=${filled('%41', MOST_HEADER_BYTES)}`,
  'a parameter with a long name': `${'a'.repeat(MOST_HEADER_BYTES)}=1`,
};

/** A place of a schema, and a value that is as large as it may be there and small everywhere else. */
export interface LargePlace {
  readonly place: string;
  /** Whether it is large by a text, or by the number of its entries. */
  readonly by: 'text' | 'count';
  readonly make: (text: string) => unknown;
}

/** Made when it is sent: all of them together would be gigabytes. */
export function* largeIn(
  schema: Schema,
  resolved: (schema: Schema) => Schema,
  place = '',
): Generator<LargePlace> {
  const known = resolved(schema);
  for (const choice of known.oneOf ?? known.anyOf ?? []) yield* largeIn(choice, resolved, place);
  const types = typeof known.type === 'string' ? [known.type] : (known.type ?? []);
  if (types.includes('string')) yield { place, by: 'text', make: (text) => text };
  if (types.includes('array')) {
    const items = known.items ?? {};
    yield { place: `${place}[]`, by: 'count', make: () => manyOf(sample(items, resolved)) };
    for (const inner of largeIn(items, resolved, `${place}[]`))
      yield { ...inner, make: (text) => [inner.make(text)] };
  }
  const { additionalProperties: others } = known;
  if (others !== undefined && others !== false) {
    const item = others === true ? 'x' : sample(others, resolved);
    yield {
      place: `${place}{}`,
      by: 'count',
      make: () => Object.fromEntries(manyOf(item).map((one, at) => [`k${at}`, one])),
    };
    yield { place: `${place}{} key`, by: 'text', make: (text) => ({ [text]: item }) };
    if (others !== true)
      for (const inner of largeIn(others, resolved, `${place}{}`))
        yield { ...inner, make: (text) => ({ k: inner.make(text) }) };
  }
  for (const [key, member] of Object.entries(known.properties ?? {}))
    for (const inner of largeIn(member, resolved, place === '' ? key : `${place}.${key}`))
      yield { ...inner, make: (text) => ({ [key]: inner.make(text) }) };
}

function manyOf(item: unknown): readonly unknown[] {
  const count = Math.floor((MOST_BYTES * 0.9) / (JSON.stringify(item).length + 12));
  return Array.from({ length: count }, (_, at) => (typeof item === 'string' ? `x${at}` : named(item, at)));
}

function named(item: unknown, at: number): unknown {
  return typeof item === 'object' && item !== null && 'name' in item ? { ...item, name: `x${at}` } : item;
}

/** The smallest value that has every field of the schema. */
function sample(schema: Schema, resolved: (schema: Schema) => Schema, depth = 0): unknown {
  const known = resolved(schema);
  const first = known.oneOf?.[0] ?? known.anyOf?.[0];
  if (first !== undefined) return sample(first, resolved, depth);
  if (known.enum !== undefined) return known.enum[0];
  const type = typeof known.type === 'string' ? known.type : known.type?.[0];
  if (type === 'string') return 'x';
  if (type === 'integer' || type === 'number') return 1;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (depth > 3) return {};
  return Object.fromEntries(
    Object.entries(known.properties ?? {}).map(([key, member]) => [key, sample(member, resolved, depth + 1)]),
  );
}
