/** A description of the interface, read from the document that the control plane itself serves. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly queries: readonly string[];
  readonly body: Schema | undefined;
  readonly yaml: boolean;
  readonly platform: boolean;
  /** Codes by status, as documented. */
  readonly codes: ReadonlyMap<number, ReadonlySet<string>>;
  readonly success: number;
}

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface RawOperation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly 'x-codes'?: readonly string[] }>>;
}

export function operationsOf(document: unknown): readonly Operation[] {
  const { paths } = document as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => {
      const content = raw.requestBody?.content;
      const answers = Object.entries(raw.responses);
      return {
        method: method.toUpperCase(),
        path,
        queries: raw.parameters.filter((one) => one.in === 'query').map(({ name }) => name),
        body: content?.['application/json']?.schema,
        yaml: content?.['application/yaml'] !== undefined,
        platform: path.startsWith('/api/v1/tenants') || path.startsWith('/api/v1/audit'),
        success: Number(answers.find(([status]) => Number(status) < 400)?.[0] ?? 200),
        codes: new Map(answers.map(([status, answer]) => [Number(status), new Set(answer['x-codes'])])),
      };
    }),
  );
}

/** Follows references, and joins what a schema is put together from. */
export function resolverOf(document: unknown): (schema: Schema) => Schema {
  const { schemas } = (document as Document).components;
  const resolved = (schema: Schema): Schema => {
    const name = schema.$ref?.split('/').at(-1);
    const known = name === undefined ? schema : (schemas[name] ?? {});
    if (known.allOf === undefined) return known;
    const parts = known.allOf.map(resolved);
    return {
      ...known,
      properties: Object.assign({}, ...parts.map((part) => part.properties ?? {}), known.properties ?? {}),
    };
  };
  return resolved;
}

const WEB = { name: 'web', image: 'localhost:1/shop/web:1.0.0' };

/** What is accepted, by path: a body that is wrong in one place reaches further than one that is wrong in many. */
export const ACCEPTED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '/api/v1/deployments': WEB,
  '/api/v1/deployments/{name}': WEB,
  '/api/v1/secrets/{namespace}/{name}': { values: { password: 'one' } },
  '/api/v1/secrets': { namespace: 'resources', name: 'web', generate: { keys: ['password'] } },
  '/api/v1/jobs/{name}': { ...WEB, kind: 'Job' },
  '/api/v1/tokens': { name: 'ci', role: 'viewer' },
  '/api/v1/tenants': { slug: 'other' },
  '/api/v1/join-tokens': {},
  '/api/v1/backups': { deploymentName: 'web' },
  '/api/v1/jobs': { ...WEB, kind: 'Job' },
  '/api/v1/networks': { name: 'web' },
  '/api/v1/dvm/volumes': { name: 'web', class: 'ephemeral', type: 'volume', sizeBytes: 2 ** 27 },
};

/** Reproducible from its seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** Texts at which parsers of names, paths, numbers, times and templates stumble. */
const TEXTS = [
  '',
  ' ',
  'a',
  'web',
  'db',
  'WEB',
  'web.',
  '-web',
  'ü',
  '\u0000',
  '\ud800',
  '\u202egnp',
  '../../etc/passwd',
  '%2e%2e%2f',
  '/absolute/path',
  'resources/db',
  'deployments/web',
  'registries/localhost',
  'a/b/c',
  '10s',
  '-1s',
  '1e9h',
  '99999999999999999999s',
  '512Mi',
  '1e400',
  'NaN',
  '* * * * *',
  '*/0 * * * *',
  '61 25 32 13 8',
  '{{secret.db.password}}',
  '{{secret.',
  '}}{{',
  'localhost:1/shop/web:1.0.0',
  'registry.example.com/shop/web:1',
  'web@sha256:0000',
  'volume(vol_x)',
  'process',
  'external',
  'NONE',
  'true',
  'null',
  '<script>alert(1)</script>',
  "'; drop table tenants; --",
  '${jndi:ldap://x}',
  'a'.repeat(63),
  'a'.repeat(64),
  'a'.repeat(300),
  '🚢'.repeat(40),
  'constructor',
  '__proto__',
  'toString',
  'DE',
  'eu',
  'vol_01jd0000000000000000000000',
  'node-1',
] as const;

const NUMBERS = [
  0,
  1,
  2,
  -1,
  3,
  100,
  101,
  1.5,
  -0,
  65_535,
  65_536,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  1e21,
  1e308,
  5e-324,
] as const;

const ANYTHING = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  { a: { b: { c: [] } } },
  { constructor: 1 },
  { toString: 'x' },
] as const;

/** Bodies near a schema: mostly of its form with unusual values, now and then of another form. */
export class BodyMaker {
  readonly #dice: Dice;
  readonly #resolved: (schema: Schema) => Schema;

  constructor(document: unknown, dice: Dice) {
    this.#dice = dice;
    this.#resolved = resolverOf(document);
  }

  text(): string {
    return this.#dice.pick(TEXTS);
  }

  value(schema: Schema, depth = 0): unknown {
    const dice = this.#dice;
    if (depth > 6 || dice.chance(0.03)) return this.#anything();
    const known = this.#resolved(schema);
    const choices = known.oneOf ?? known.anyOf;
    if (choices !== undefined && choices.length > 0) return this.value(dice.pick(choices), depth + 1);
    if (known.enum !== undefined && dice.chance(0.8)) return dice.pick(known.enum);
    const type = typeof known.type === 'string' ? known.type : dice.pick(known.type ?? ['object']);
    switch (type) {
      case 'string':
        return this.text();
      case 'integer':
      case 'number':
        return dice.pick(NUMBERS);
      case 'boolean':
        return dice.chance(0.5);
      case 'null':
        return null;
      case 'array': {
        const length = dice.chance(0.05) ? 40 : dice.below(4);
        return Array.from({ length }, () => this.value(known.items ?? {}, depth + 1));
      }
      default:
        return this.#object(known, depth);
    }
  }

  #object(schema: Schema, depth: number): unknown {
    const dice = this.#dice;
    const made = new Map<string, unknown>();
    const keep = 0.15 + dice.next() * 0.6;
    for (const [key, member] of Object.entries(schema.properties ?? {})) {
      if (dice.chance(keep)) made.set(key, this.value(member, depth + 1));
    }
    if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) {
      const member = schema.additionalProperties === true ? {} : schema.additionalProperties;
      for (let count = dice.below(4); count > 0; count -= 1)
        made.set(this.text(), this.value(member, depth + 1));
    }
    if (dice.chance(0.04)) made.set(this.text(), this.#anything());
    // Not by assignment: `__proto__` is to be a key like any other.
    return Object.fromEntries(made);
  }

  #anything(): unknown {
    const kind = this.#dice.below(3);
    if (kind === 0) return this.text();
    return kind === 1 ? this.#dice.pick(NUMBERS) : this.#dice.pick(ANYTHING);
  }
}
