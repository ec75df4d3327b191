import type { AnswerTo, OperationName } from '../sdk/index.ts';

/**
 * An answer as any control plane may send it: an older one knows fewer fields, a newer one other values. What is read is read as
 * perhaps absent, and nothing crashes.
 */
export type Answered<T> = T extends string
  ? string
  : T extends number | boolean | null | undefined
    ? T
    : T extends readonly (infer I)[]
      ? readonly Answered<I>[]
      : unknown extends T
        ? T
        : { readonly [K in keyof T]?: Answered<T[K]> | undefined };

export type AnsweredBy<N extends OperationName> = Answered<AnswerTo<N>>;
