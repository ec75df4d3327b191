import { isRecord } from '../../src/core/model/values.ts';
import { CATALOGUE, type RejectionCode } from '../../src/core/rejections/catalogue.ts';
import type { Shape } from '../../src/core/schema/shape.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Field {
  /** `secrets[].name` */
  readonly path: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** A document that says this field and what it cannot do without; without name and image. */
  readonly example: Json | undefined;
}

/** A shape whose fields are described as JSON Schema, because its rules own every wrong type, as one that can be walked. */
function shapeOfSchema(schema: Json, instead?: string): Shape {
  const { description, default: otherwise, examples } = schema;
  return {
    type: 'any',
    schema,
    ...(typeof description === 'string' ? { description } : {}),
    ...(otherwise === undefined ? {} : { absent: JSON.stringify(otherwise) }),
    ...(Array.isArray(examples) ? { example: examples[0] } : {}),
    ...(instead === undefined ? {} : { exampleWith: { [instead]: undefined } }),
  };
}

/** Of a map whose keys the client chooses, and what an example has in its place. */
const ANY_KEY = '<KEY>';
const EXAMPLE_KEY = 'USERNAME';

/** Fields of which one is said, not both. */
const INSTEAD_OF: Readonly<Record<string, string>> = { volume: 'volumeId' };

interface Members {
  readonly fields: readonly (readonly [string, Shape])[];
  readonly required: readonly string[];
}

function membersOf(shape: Shape): Members {
  if (shape.type === 'object') {
    const others: Members['fields'] = shape.others === undefined ? [] : [[ANY_KEY, shape.others]];
    return { fields: [...Object.entries(shape.fields), ...others], required: shape.required ?? [] };
  }
  const properties = shape.type === 'any' ? shape.schema['properties'] : undefined;
  if (shape.type !== 'any' || !isRecord(properties)) return { fields: [], required: [] };
  const { required } = shape.schema;
  return {
    fields: Object.entries(properties).flatMap(([name, schema]) =>
      isRecord(schema) ? [[name, shapeOfSchema(schema, INSTEAD_OF[name])] as const] : [],
    ),
    required: Array.isArray(required) ? required.map(String) : [],
  };
}

/** Its own example; of an object without one, those of what it requires. */
export function exampleOf(shape: Shape): unknown {
  if (shape.example !== undefined) return shape.example;
  if (shape.type === 'list') {
    const item = exampleOf(shape.items);
    return item === undefined ? undefined : [item];
  }
  const { fields, required } = membersOf(shape);
  const parts = fields
    .filter(([name]) => required.includes(name))
    .map(([name, one]) => [name, exampleOf(one)]);
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

interface Place {
  readonly path: string;
  /** Puts what an object at this place holds into a whole document. */
  readonly wrap: (members: Json) => Json;
}

function below(place: Place, name: string): string {
  return place.path === '' ? name : `${place.path}.${name}`;
}

function walk(shape: Shape, place: Place): readonly Field[] {
  const { fields, required } = membersOf(shape);
  const own = exampleOf(shape);
  // How one key is made is said in one way or another, so its examples stand alone.
  const always = place.path !== '' && !place.path.endsWith(ANY_KEY) && isRecord(own) ? own : {};
  return fields.flatMap(([name, field]) => {
    const path = below(place, name);
    const key = name === ANY_KEY ? EXAMPLE_KEY : name;
    const isList = field.type === 'list';
    const beside = Object.entries({ ...always, ...field.exampleWith }).filter(
      ([, value]) => value !== undefined,
    );
    const wrap = (value: unknown): Json => place.wrap({ ...Object.fromEntries(beside), [key]: value });
    const example = exampleOf(field);
    return [
      {
        path,
        shape: field,
        required: required.includes(name),
        example: example === undefined ? undefined : wrap(example),
      },
      ...walk(isList ? field.items : field, {
        path: isList ? `${path}[]` : path,
        wrap: (members) => wrap(isList ? [members] : members),
      }),
    ];
  });
}

/** Every field of a document, each before what is in it. */
export function fieldsOf(document: Shape): readonly Field[] {
  return walk(document, { path: '', wrap: (members) => members });
}

const plain = (field: string): string => field.replace(/\[[^\]]*\]/g, '[]');

function pathsOf(code: RejectionCode): readonly string[] {
  return CATALOGUE[code].field.split(', ').map(plain);
}

/** `<field>` and `<key>` stand for anything below. */
function isAt(pattern: string, path: string): boolean {
  const general = pattern.replace(/\.<[^>]*>$/, '');
  if (general !== pattern)
    return path === general || path.startsWith(`${general}.`) || path === `${general}[]`;
  return pattern === path || pattern === `${path}[]`;
}

function ownCodes(shape: Shape): readonly RejectionCode[] {
  const items = shape.type === 'list' || shape.type === 'map' ? ownCodes(shape.items) : [];
  return [...(shape.ownCode === undefined ? [] : [shape.ownCode]), ...items];
}

/** Which of the codes of its operation a field may be refused with: by the catalogue, and by its shape. */
export function codesAt(field: Field, codes: readonly RejectionCode[]): readonly RejectionCode[] {
  const own = ownCodes(field.shape);
  // Material of a secret is described once, wherever it stands.
  const ending = /(?:^|\.)((?:generate|values)(?:\..*)?)$/.exec(field.path)?.[1];
  return codes.filter(
    (code) =>
      own.includes(code) ||
      pathsOf(code).some(
        (pattern) => isAt(pattern, field.path) || (ending !== undefined && pattern === ending),
      ),
  );
}
