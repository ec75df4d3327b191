import { textsIn } from '../core/model/values.ts';

/** Values by the option's long name in camel case. */
export class OptionValues {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** `--no-wait`: true unless it was given. */
  unlessDenied(name: string): boolean {
    return this.#values[name] !== false;
  }

  list(name: string): readonly string[] {
    return textsIn(this.#values[name]);
  }
}
