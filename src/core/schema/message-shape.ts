import type { OptionalKeys, Scalar } from './shape.ts';

/**
 * Messages between programs, described once as plain data: their types and their readers (`read-message.ts`) come from it. The language
 * is that of bodies and answers (`shape.ts`), with bounds, since machines of tenants may say anything, and with tagged choices.
 */
export type MessageShape = { readonly optional?: true } & (
  | TextShape
  /** With `least`: not below it. */
  | { readonly type: 'integer' | 'number'; readonly least?: number }
  /** `orNot`: whatever is not true is false. */
  | { readonly type: 'boolean'; readonly orNot?: true }
  /** Taken as it is; `maxParts` are the members of all lists and objects in it. */
  | { readonly type: 'any'; readonly maxParts?: number }
  | { readonly type: 'list'; readonly items: MessageShape; readonly max?: number }
  | { readonly type: 'map'; readonly items: TextShape; readonly max?: number }
  | ObjectShape
  | ChoiceShape
  /** A field that only other choices have: it cannot be written, and a reader ignores it. */
  | { readonly type: 'absent' }
);

export interface TextShape {
  readonly type: 'string';
  readonly values?: readonly string[];
  /** Other values are accepted too; the caller reports those it does not know. */
  readonly open?: true;
  readonly max?: number;
  readonly fits?: RegExp | ((text: string) => boolean);
  /** Surrogates without their other half are passed on. */
  readonly anyUnicode?: true;
  /** Rather than refused, cut and cleaned for people who read it, or made valid Unicode. */
  readonly mended?: 'prose' | 'unicode';
}

export interface ObjectShape {
  readonly type: 'object';
  readonly fields: Readonly<Record<string, MessageShape>>;
  /** Of what was read: whether its fields go together. */
  readonly fits?: (found: Readonly<Record<string, unknown>>) => boolean;
}

/** Tagged union by the field `by`, which may be `true` or `false`. An unknown tag, of another version, is not decoded. */
export interface ChoiceShape {
  readonly type: 'choice';
  readonly by: string;
  readonly of: Readonly<Record<string, ObjectShape | ChoiceShape>>;
}

/** Keeps literal types, so that `Message` can read them. */
export function message<const S extends MessageShape>(value: S): S {
  return value;
}

export function optional<const S extends MessageShape>(source: S): S & { readonly optional: true } {
  return { ...source, optional: true };
}

export function listOf<const S extends MessageShape>(items: S, max?: number) {
  return { type: 'list', items, ...(max === undefined ? {} : { max }) } as const;
}

export const absent = message({ type: 'absent', optional: true });

/** A text of which the type says more than its form: `InstanceId` and its like. */
export function branded<Brand extends string>() {
  return <const S extends TextShape>(source: S) => source as S & { readonly brand: Brand };
}

type Flat<T> = { [K in keyof T]: T[K] };
type Tag<K> = K extends 'true' ? true : K extends 'false' ? false : K;

type Chosen<By extends string, C> = {
  [K in keyof C]: Flat<{ readonly [P in By]: Tag<K> } & Message<C[K]>>;
}[keyof C];

/** What a message of this shape holds. */
export type Message<S> = S extends { readonly type: 'absent' }
  ? never
  : S extends { readonly brand: infer Brand }
    ? Brand
    : S extends { type: 'choice'; by: infer By extends string; of: infer C }
      ? Chosen<By, C>
      : S extends { type: 'list'; items: infer I }
        ? readonly Message<I>[]
        : S extends { type: 'map'; items: infer I }
          ? Readonly<Record<string, Message<I>>>
          : S extends { type: 'object'; fields: infer F }
            ? Flat<
                { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Message<F[K]> } & {
                  readonly [K in OptionalKeys<F>]?: Message<F[K]>;
                }
              >
            : Scalar<S>;
