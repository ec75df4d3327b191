import { isRecord } from '../../src/core/model/values.ts';
import { jsonSchema, type Shape } from '../../src/core/schema/shape.ts';

type Json = Readonly<Record<string, unknown>>;

const code = (text: unknown): string => `\`${String(text).replaceAll('|', '\\|')}\``;
const count = (value: number): string => value.toLocaleString('en-US');

function range({ minimum, maximum, exclusiveMinimum }: Json): readonly string[] {
  // The largest integer that JSON carries is no bound that anybody chose.
  const most = typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (typeof exclusiveMinimum === 'number')
    return [`above ${exclusiveMinimum}${most === undefined ? '' : `, at most ${count(most)}`}`];
  if (typeof minimum !== 'number') return most === undefined ? [] : [`at most ${count(most)}`];
  return [most === undefined ? `at least ${count(minimum)}` : `${count(minimum)} to ${count(most)}`];
}

function sized(schema: Json): readonly string[] {
  const bounds = [
    ['Items', 'entries'],
    ['Properties', 'entries'],
    ['Length', 'characters'],
  ] as const;
  return bounds.flatMap(([part, noun]) => {
    const least = schema[`min${part}`];
    const most = schema[`max${part}`];
    if (typeof most !== 'number')
      return typeof least === 'number' && least > 1 ? [`at least ${least} ${noun}`] : [];
    return [
      typeof least === 'number'
        ? `${count(least)} to ${count(most)} ${noun}`
        : `at most ${count(most)} ${noun}`,
    ];
  });
}

/** What the schema says of a value, in words. */
function rules(schema: Json): readonly string[] {
  const { enum: values, pattern, uniqueItems, propertyNames, items, additionalProperties, not } = schema;
  const inside = isRecord(items)
    ? rules(items)
    : isRecord(additionalProperties)
      ? rules(additionalProperties)
      : [];
  return [
    ...(not === undefined ? [] : ['nothing: always refused']),
    ...(Array.isArray(values) ? [values.map(code).join(', ')] : []),
    ...range(schema),
    ...(typeof pattern === 'string' ? [`the form ${code(pattern)}`] : []),
    ...sized(schema),
    ...(uniqueItems === true ? ['each once'] : []),
    ...(isRecord(propertyNames) && typeof propertyNames['pattern'] === 'string'
      ? [`keys of the form ${code(propertyNames['pattern'])}`]
      : []),
    ...(inside.length === 0 || (isRecord(items) && isRecord(items['properties']))
      ? []
      : [`each: ${inside.join('; ')}`]),
  ];
}

export function ruleOf(shape: Shape): string {
  const schema = jsonSchema(shape);
  return rules(schema).join('; ');
}

export function typeOf(shape: Shape): string {
  switch (shape.type) {
    case 'list':
      return `list of ${typeOf(shape.items)}s${shape.orOne ? ', or one' : ''}`;
    case 'map':
      return `map of ${typeOf(shape.items)}s`;
    case 'any': {
      const { type, anyOf, not } = shape.schema;
      if (not !== undefined) return 'none';
      if (Array.isArray(anyOf)) return 'string or object';
      return Array.isArray(type) ? String(type[0]) : String(type);
    }
    default:
      return shape.type;
  }
}
