import { shape, type Shape } from '../../schema/shape.ts';

/** Field shapes that answers share. */
export const text = shape({ type: 'string' });
export const time = shape({ type: 'string', format: 'date-time' });
export const integer = shape({ type: 'integer' });
export const number = shape({ type: 'number' });
export const flag = shape({ type: 'boolean' });
export const texts = shape({ type: 'list', items: text });
export const textMap = shape({ type: 'map', items: text });
/** What a tenant chose, or what differs with the kind of thing that it is about. */
export const free = shape({ type: 'any', schema: {} });
export const freeMap = shape({ type: 'map', items: free });

export function optional<const S extends Shape>(source: S): S & { readonly optional: true } {
  return { ...source, optional: true };
}

export function nullable<const S extends Shape>(source: S): S & { readonly nullable: true } {
  return { ...source, nullable: true };
}

export function listOf<const S extends Shape>(items: S): { readonly type: 'list'; readonly items: S } {
  return { type: 'list', items };
}

type Optional<F> = { readonly [K in keyof F]: F[K] & { readonly optional: true } };

/** The same fields, each of which may be absent. */
export function allOptional<const F extends Readonly<Record<string, Shape>>>(fields: F): Optional<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, optional(field)]),
  ) as Optional<F>;
}

export const alterations = shape({
  type: 'list',
  description: 'What the server changed that the client did not send.',
  items: { type: 'object', named: 'Alteration', fields: { field: text, from: text, to: text, why: text } },
});

export const warnings = shape({
  type: 'list',
  description: 'Accepted with warnings.',
  items: { type: 'object', named: 'Warning', fields: { code: text, field: text, why: text } },
});

/** Fields of every write's answer. */
export const announced = {
  alterations,
  warnings,
  removed: { ...texts, description: 'Everything that a replaced list or map lost.' },
} as const;

export const imageDigest = {
  ...text,
  optional: true,
  description:
    'What the registry had for the image when it was written: it is what runs. Absent: it could not be asked.',
} as const;

/** Of the write; the same is in the ETag. */
export const revision = {
  ...integer,
  description: 'Of the store, when it was last written; also its ETag.',
} as const;

/** What bounds containers; of a workload, without what it bounds itself. */
export const containerDefaults = shape({
  type: 'object',
  named: 'ContainerDefaults',
  description: 'What bounds a container where its workload does not.',
  fields: {
    memory: optional(text),
    pids: optional(integer),
    cpuWeight: optional(integer),
    logSize: optional(text),
  },
});
