import { isRecord } from '../model/values.ts';
import type { RejectionCode } from '../rejections/catalogue.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { looksPasted, memberField, received, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import { borrowedWord, expectedForm, type Meant } from './borrowed-words.ts';
import { nearest } from './nearest.ts';

/**
 * Bodies are described once, as plain data: the decoder below checks a body against it, the OpenAPI document
 * prints it as JSON Schema, and the draft types are derived from it. A shape checks JSON types and unknown
 * fields only; what a value may be is for the rules, in their documented order.
 */
export type Shape = Described & ShapeBody;

interface Described {
  readonly description?: string;
  /** Of a field of a body: what holds when it is not sent, as a phrase. */
  readonly absent?: string;
  readonly example?: unknown;
  /** Fields beside it without which the example says nothing; undefined: one that does not go with it. */
  readonly exampleWith?: Readonly<Record<string, unknown>>;
  /** The value is or may hold a credential: never echoed. */
  readonly sensitive?: boolean;
  /** What a value of another type is refused with; absent: `field_type_invalid`. Of a list or map, also for its items. */
  readonly ownCode?: RejectionCode;
  /** What is expected then, where the accepted form of that code says more than this field takes. */
  readonly ownForm?: string;
  /** Of a field of an answer: it may be absent. Fields of bodies may be absent whatever this says. */
  readonly optional?: true;
  /** Of a value of an answer. */
  readonly nullable?: true;
  /** Of a field of a body whose `null` clears: there is nothing without it. */
  readonly cleared?: false;
  /** Under which the OpenAPI document has it, once. */
  readonly named?: string;
  /** Its form as JSON Schema, for the document: the decoder checks types alone, values are for the rules. */
  readonly form?: Readonly<Record<string, unknown>>;
}

type ShapeBody =
  | { readonly type: 'string'; readonly values?: readonly string[]; readonly format?: 'date-time' | 'uri' }
  | { readonly type: 'integer' | 'number' | 'boolean' }
  /** The rule of the field owns every wrong type, because the specification gives it a code of its own. */
  | { readonly type: 'any'; readonly schema: Readonly<Record<string, unknown>> }
  /** `orOne`: an item by itself is accepted too. */
  | { readonly type: 'list'; readonly items: Shape; readonly orOne?: true }
  | { readonly type: 'map'; readonly items: Shape }
  | {
      readonly type: 'object';
      readonly fields: Fields;
      readonly ignored?: readonly string[];
      /** Of a body, for the document: that something is missing is for the rules, which say it with their own codes. */
      readonly required?: readonly string[];
      /** Of a body: `null` is the same as absent, or clears the field in an update; at its top level only. */
      readonly nullClears?: true;
      /** Objects under any other key: the client chooses the keys. What is no object stays an unknown field. */
      readonly others?: Shape;
    };

export type Fields = Readonly<Record<string, Shape>>;

/** What is no list, map or object. */
export type Scalar<S> = S extends { type: 'string'; values: readonly (infer V)[] }
  ? V
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'integer' | 'number' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : unknown;

export type Draft<S> = S extends { type: 'list'; items: infer I; orOne: true }
  ? readonly Draft<I>[] | Draft<I>
  : S extends { type: 'list'; items: infer I }
    ? readonly Draft<I>[]
    : S extends { type: 'map'; items: infer I }
      ? Readonly<Record<string, Draft<I>>>
      : S extends { type: 'object'; fields: infer F }
        ? { readonly [K in keyof F]?: Draft<F[K]> }
        : Scalar<S>;

export type OptionalKeys<F> = {
  [K in keyof F]: F[K] extends { readonly optional: true } ? K : never;
}[keyof F];

type Held<S> = S extends { type: 'list'; items: infer I }
  ? readonly Answer<I>[]
  : S extends { type: 'map'; items: infer I }
    ? Readonly<Record<string, Answer<I>>>
    : S extends { type: 'object'; fields: infer F }
      ? { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Answer<F[K]> } & {
          readonly [K in OptionalKeys<F>]?: Answer<F[K]>;
        }
      : Scalar<S>;

/** What an answer of this shape holds: every field but the optional ones is there. */
export type Answer<S> = S extends { nullable: true } ? Held<S> | null : Held<S>;

/** As it was sent: where the shape says that `null` clears, it may stand in the place of every field, and some keys are ignored. */
export type Sent<S> = S extends { nullClears: true; fields: infer F; ignored?: infer I }
  ? { readonly [K in keyof F]?: Draft<F[K]> | null | undefined } & {
      readonly [K in I extends readonly (infer Key extends string)[] ? Key : never]?: unknown;
    }
  : Draft<S>;

type Plain = string | number | boolean | null | undefined;

/** V, where every field that the answer does not know can hold nothing. */
export type Exact<V, A> = unknown extends A
  ? V
  : V extends Plain
    ? V
    : V extends readonly (infer VI)[]
      ? A extends readonly (infer AI)[]
        ? readonly Exact<VI, AI>[]
        : V
      : { [K in keyof V]: K extends keyof NonNullable<A> ? Exact<V[K], NonNullable<A>[K]> : never };

/** Of types alone. Protected, so that a copy with more fields is no longer exact; of A and of no type that is like it. */
declare class Exactness<A> {
  protected readonly of: (same: A) => A;
}

/** An answer of this type and nothing more. */
export type Exactly<A> = A & Exactness<A>;

/**
 * The only way to an exact answer: what the shape does not know, or what it wants and is missing, is an error of types, however deep it
 * is and wherever it was spread from.
 */
export function exactly<A>() {
  return <const V extends A>(value: V & Exact<V, A>): Exactly<A> => value as V & Exactly<A>;
}

/** Keeps literal types, so that `Draft` can read them. */
export function shape<const S extends Shape>(value: S): S {
  return value;
}

const hiding = new WeakMap<Shape, boolean>();

/** Of its own or in its parts, each shape asked once: what was sent in the place of a list may be one of its items. */
function hides(one: Shape): boolean {
  const known = hiding.get(one);
  if (known !== undefined) return known;
  const found = one.sensitive === true || partsOf(one).some(hides);
  hiding.set(one, found);
  return found;
}

function partsOf(one: Shape): readonly Shape[] {
  if (one.type === 'list' || one.type === 'map') return [one.items];
  if (one.type !== 'object') return [];
  return [...Object.values(one.fields), ...(one.others === undefined ? [] : [one.others])];
}

interface Context {
  readonly sensitive: boolean;
  /** `null` stands for "clear this field"; only the top level of an update may say so. */
  readonly nullClears: boolean;
}

function at(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function wrongType(path: string, value: unknown, expected: string, sensitive: boolean): Rejection {
  const article = /^[aeio]/.test(expected) ? 'an' : 'a';
  const isText = typeof value === 'string' && !expected.startsWith('string');
  return reject('field_type_invalid', {
    field: path === '' ? 'body' : path,
    // A body that is no object at all may be a credential sent by mistake.
    received: sensitive || path === '' ? redacted(value) : received(value),
    expected: expectedForm(path) ?? expected,
    // Texts are shown bare: "1" and 1 look the same.
    why: `${path === '' ? 'The body' : path} must be ${article} ${expected}${isText ? ', not a text' : ''}.`,
  });
}

/** Whole, but beyond what a program can count with exactly. */
function isTooLarge(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

/** As the rules of its field have it, as far as the form says so. */
function integerForm({ form }: Shape): string {
  const [least, most] = [form?.['minimum'], form?.['maximum']];
  const min = typeof least === 'number' ? least : Number.MIN_SAFE_INTEGER;
  return `integer from ${min} to ${typeof most === 'number' ? most : Number.MAX_SAFE_INTEGER}`;
}

const MAX_NAMED_FIELD = 64;

function meantText(path: string, { field, how }: Meant): string {
  return `here it is ${at(path, field)}${how === undefined ? '' : `: ${how}`}.`;
}

function unknownField(
  path: string,
  key: string,
  value: unknown,
  known: readonly string[],
  sensitive: boolean,
): Rejection {
  const meant = borrowedWord(key, known);
  const near = meant?.field ?? nearest(key, known);
  const list = known.join(', ');
  // No known field is nearly as long; a longer key is text that was pasted in the wrong place. An empty one has no path.
  const misplaced = key === '' || key.length > MAX_NAMED_FIELD || looksPasted(key);
  const named = misplaced ? (path === '' ? 'body' : path) : at(path, key);
  return reject('field_unknown', {
    field: named,
    received: sensitive ? redacted(value) : received(value),
    expected: near === undefined ? `one of: ${list}` : `${at(path, near)} (known fields: ${list})`,
    why:
      near === undefined
        ? `${named === path || named === 'body' ? `A key of ${named}` : named} is not a known field.`
        : `${named} is not a known field; ${meant === undefined ? `did you mean ${at(path, near)}?` : meantText(path, meant)}`,
  });
}

function checkFields(
  { fields, ignored = [], others }: Extract<ShapeBody, { readonly type: 'object' }>,
  value: Readonly<Record<string, unknown>>,
  path: string,
  context: Context,
): Rejection | undefined {
  for (const [key, member] of Object.entries(value)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field === undefined) {
      if (ignored.includes(key)) continue;
      if (others !== undefined && isRecord(member)) {
        const place = path === '' ? key : memberField(path, key);
        const rejection = check(others, member, place, { ...context, nullClears: false });
        if (rejection) return rejection;
        continue;
      }
      // What an unknown field holds is not known either, so it is never echoed.
      return unknownField(path, key, member, Object.keys(fields), true);
    }
    if (member === undefined || (member === null && context.nullClears)) continue;
    const rejection = check(field, member, at(path, key), {
      sensitive: context.sensitive || field.sensitive === true,
      nullClears: false,
    });
    if (rejection) return rejection;
  }
  return undefined;
}

/** As the field's own code says it, where it has one: the type is then one more way of not being the accepted form. */
function check(expected: Shape, value: unknown, path: string, context: Context): Rejection | undefined {
  const rejection = checkType(expected, value, path, context);
  const { ownCode, ownForm } = expected;
  if (ownCode === undefined || rejection?.code !== 'field_type_invalid') return rejection;
  // A list with a code of its own is refused as a whole.
  const field = expected.type === 'list' ? path : rejection.field;
  // A number that is too large may be all that the code asks for.
  const form = expected.type === 'integer' && isTooLarge(value) ? rejection.expected : ownForm;
  return reject(ownCode, {
    field,
    received: rejection.received,
    ...(form !== undefined && { expected: form }),
    why: rejection.why,
  });
}

function checkType(expected: Shape, value: unknown, path: string, context: Context): Rejection | undefined {
  const sensitive = context.sensitive || expected.sensitive === true;
  switch (expected.type) {
    case 'any':
      return undefined;
    case 'string':
      if (typeof value !== 'string') return wrongType(path, value, 'string', sensitive);
      if (expected.values && !expected.values.includes(value)) {
        return reject('field_type_invalid', {
          field: path,
          received: sensitive ? redacted(value) : received(value),
          expected: `one of: ${expected.values.join(', ')}`,
          why: `${path} has a value that is not known.`,
        });
      }
      return value.isWellFormed() && !value.includes('\u0000')
        ? undefined
        : wrongType(path, value, 'string of valid Unicode without NUL', true);
    case 'integer':
      if (Number.isSafeInteger(value)) return undefined;
      return wrongType(path, value, isTooLarge(value) ? integerForm(expected) : 'integer', sensitive);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value)
        ? undefined
        : wrongType(path, value, 'number', sensitive);
    case 'boolean':
      return typeof value === 'boolean'
        ? undefined
        : wrongType(path, value, 'boolean (true or false)', sensitive);
    case 'list': {
      if (expected.orOne && isRecord(value)) return check(expected.items, value, path, context);
      if (!Array.isArray(value)) return wrongType(path, value, 'list', context.sensitive || hides(expected));
      for (const [index, item] of value.entries()) {
        const rejection = check(expected.items, item, `${path}[${index}]`, { sensitive, nullClears: false });
        if (rejection) return rejection;
      }
      return undefined;
    }
    case 'map': {
      if (!isRecord(value)) return wrongType(path, value, 'object', context.sensitive || hides(expected));
      for (const [key, item] of Object.entries(value)) {
        if (!key.isWellFormed() || key.includes('\u0000'))
          return wrongType(path, key, 'object with valid Unicode keys', true);
        // The key of a sensitive map may itself be a pasted credential.
        const field = sensitive ? memberField(path, key) : at(path, key);
        const rejection = check(expected.items, item, field, { sensitive, nullClears: false });
        if (rejection) return rejection;
      }
      return undefined;
    }
    case 'object':
      if (!isRecord(value)) return wrongType(path, value, 'object', context.sensitive || hides(expected));
      return checkFields(expected, value, path, { ...context, sensitive });
  }
}

/** The first thing in the body that does not fit; nothing: the body is a `Draft` of the shape. */
export function checkBody(expected: Shape, body: unknown): Rejection | undefined {
  const nullClears = expected.type === 'object' && expected.nullClears === true;
  return check(expected, body, '', { sensitive: false, nullClears });
}

/** The body itself, when all of it fits. */
export function readBody<const S extends Shape>(expected: S, body: unknown): Sent<S> | Rejection;
export function readBody(expected: Shape, body: unknown) {
  return checkBody(expected, body) ?? body;
}

type ObjectShape = Extract<Shape, { readonly type: 'object' }>;

/** Those of the shape's fields that have a value, in the order of the shape. */
export function inOrder<T extends object>({ fields }: ObjectShape, value: T): T {
  const found: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) {
    const member: unknown = Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
    if (member !== undefined && member !== null) found[key] = member;
  }
  return found as T;
}

/** What is sent without keys that the server owns; `null` is absent. */
export function draftOf<const S extends ObjectShape>(expected: S, sent: Sent<S>): Draft<S>;
export function draftOf(expected: ObjectShape, sent: unknown): unknown {
  return isRecord(sent) ? inOrder(expected, sent) : {};
}

/** What the schema is of: fields of a body may be absent, fields of an answer are there unless they are optional. */
export interface SchemaUse {
  readonly of: 'body' | 'answer';
  /** Takes what has a name: it is described there, and referred to here. */
  readonly name?: (name: string, shape: Shape) => void;
}

function descriptionOf({ description, absent }: Shape): string | undefined {
  if (absent === undefined) return description;
  const otherwise = `Absent: ${absent}.`;
  return description === undefined ? otherwise : `${description} ${otherwise}`;
}

function describedAs(source: Shape, schema: Record<string, unknown>) {
  const { example, nullable, form } = source;
  const description = descriptionOf(source);
  return {
    ...schema,
    ...form,
    ...(nullable && typeof schema['type'] === 'string' ? { type: [schema['type'], 'null'] } : {}),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { examples: [example] }),
  };
}

function orNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values } = schema;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

function objectSchema(
  {
    fields,
    others,
    nullClears,
    ignored = [],
    required: wanted = [],
  }: Extract<ShapeBody, { readonly type: 'object' }>,
  use: SchemaUse,
) {
  const required =
    use.of === 'body' ? wanted : Object.keys(fields).filter((key) => fields[key]?.optional !== true);
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(
        Object.entries(fields).map(([key, field]) => {
          const schema = jsonSchema(field, use);
          const isCleared = nullClears && field.cleared !== false && !required.includes(key);
          return [key, isCleared ? orNull(schema) : schema];
        }),
      ),
      ...Object.fromEntries(
        ignored.map((key) => [key, { description: 'Of a read; ignored when sent back.' }]),
      ),
    },
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: others === undefined ? false : jsonSchema(others, use),
  };
}

type ListShape = Extract<Shape, { readonly type: 'list' }>;

function arrayOf({ items }: ListShape, use: SchemaUse): Record<string, unknown> {
  return { type: 'array', items: jsonSchema(items, use) };
}

function oneOrMany(source: ListShape, use: SchemaUse): Record<string, unknown> {
  const { form, ...described } = source;
  const list = { ...arrayOf(source, use), ...form };
  return describedAs(described, { anyOf: [list, jsonSchema(source.items, use)] });
}

/** The shape as JSON Schema 2020-12, for the OpenAPI document. */
export function jsonSchema(source: Shape, use: SchemaUse = { of: 'body' }): Record<string, unknown> {
  const { named, nullable } = source;
  if (named !== undefined && use.name !== undefined) {
    use.name(named, source);
    const reference = { $ref: `#/components/schemas/${named}` };
    return nullable ? { anyOf: [reference, { type: 'null' }] } : reference;
  }
  switch (source.type) {
    case 'any':
      return describedAs(source, source.schema);
    case 'string': {
      const { values, format } = source;
      const closed = values === undefined ? {} : { enum: nullable ? [...values, null] : values };
      return describedAs(source, { type: 'string', ...closed, ...(format === undefined ? {} : { format }) });
    }
    case 'list':
      return source.orOne ? oneOrMany(source, use) : describedAs(source, arrayOf(source, use));
    case 'map':
      return describedAs(source, { type: 'object', additionalProperties: jsonSchema(source.items, use) });
    case 'object':
      return describedAs(source, objectSchema(source, use));
    case 'integer':
      return describedAs(source, {
        type: 'integer',
        ...(use.of === 'body' ? { maximum: Number.MAX_SAFE_INTEGER } : {}),
      });
    case 'number':
    case 'boolean':
      return describedAs(source, { type: source.type });
  }
}
