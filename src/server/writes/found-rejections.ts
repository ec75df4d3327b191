import { setImmediate as turn } from 'node:timers/promises';
import { isRecord } from '../../core/model/values.ts';
import { isRejection, rejectionIn } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { everyRejection, type Left, topOf, whole } from '../../core/rules/every-rejection.ts';
import type { Rule } from '../../core/rules/rule.ts';

/** More are not read at once either; and each costs one more look at the document. */
const MAX_FOUND = 32;

/** All that is refused in one document, where it is asked for: in the order in which the write path would come to it. */
export class FoundRejections {
  readonly #found: Rejection[] = [];

  /** A field is refused once: what follows from it being taken out, or from being refused before, is no mistake of its own. */
  add(rejection: Rejection | undefined): void {
    if (rejection === undefined || this.#found.length >= MAX_FOUND) return;
    if (!this.#found.some(({ field }) => field === rejection.field)) this.#found.push(rejection);
  }

  /** What is left of the document when everything that the judge refuses is taken out; undefined: too little to judge. */
  async inWhole<T extends object>(
    document: Left<T>,
    judge: Rule<T>,
    told?: (rejection: Rejection) => Rejection,
  ): Promise<Left<T> | undefined> {
    const every = everyRejection(document, judge, told);
    for (;;) {
      const { done, value: next } = every.next();
      if (done) return next;
      this.add(next);
      if (this.#found.length >= MAX_FOUND) return undefined;
      // Looking again and again must not keep others waiting.
      await turn();
    }
  }

  /** What can be read of it when everything that has not its shape is taken out. */
  async inShape<T>(body: unknown, read: (body: unknown) => T | Rejection): Promise<Left<T> | undefined> {
    const judge = (one: unknown): Rejection | undefined => rejectionIn(read(one));
    const left = isRecord(body) ? await this.inWhole(whole(body), judge) : undefined;
    const value = left === undefined ? undefined : read(left.value);
    return left === undefined || value === undefined || isRejection(value) ? undefined : { ...left, value };
  }

  /** Each rule sees the document as it is: what one refuses is not hidden from the next. */
  async byRules<T extends object>(
    document: Left<T>,
    rules: readonly Rule<T>[],
    told?: (rejection: Rejection) => Rejection,
  ): Promise<void> {
    for (const rule of rules) await this.inWhole(document, rule, told);
  }

  /** Fields of the document that cannot be judged by more than themselves. */
  get refused(): ReadonlySet<string> {
    return new Set(this.#found.map(topOf));
  }

  /** The one that the write is refused with comes first. */
  after(first: Rejection): readonly Rejection[] {
    return [first, ...this.#found.filter(({ field }) => field !== first.field)].slice(0, MAX_FOUND);
  }
}

/** Beside the first one, all that shape and rules refuse in a document that needs no more to be judged. */
export async function documentRejections<T extends object>(
  first: Rejection,
  body: unknown,
  read: (body: unknown) => T | Rejection,
  rules: readonly Rule<T>[],
): Promise<readonly Rejection[]> {
  const found = new FoundRejections();
  const left = await found.inShape(body, read);
  if (left !== undefined) await found.byRules(left, rules);
  return found.after(first);
}
