import { usage } from '../failure.ts';

/** `ctrl-p,ctrl-q`, or single characters: bytes in the order in which they have to come. */
export function keyBytes(text: string): readonly number[] {
  return text.split(',').map((key) => {
    const control = /^ctrl-([a-z@[\\\]^_])$/.exec(key)?.[1];
    if (control !== undefined) return control.toUpperCase().charCodeAt(0) - 0x40;
    if (/^[\x20-\x7e]$/.test(key)) return key.charCodeAt(0);
    throw usage(`--detach-keys ${text}: expected keys such as ctrl-p,ctrl-q`);
  });
}

/** Looks for the keys in what is typed. What may be their beginning is held back until the next key tells. */
export class DetachKeys {
  readonly #keys: readonly number[];
  #held = 0;

  constructor(keys: readonly number[]) {
    this.#keys = keys;
  }

  take(typed: Buffer): { readonly passed: Buffer; readonly isDetached: boolean } {
    const passed: number[] = [];
    for (const byte of typed) {
      if (byte === this.#keys[this.#held]) {
        this.#held += 1;
        if (this.#held === this.#keys.length) return { passed: Buffer.from(passed), isDetached: true };
        continue;
      }
      passed.push(...this.#keys.slice(0, this.#held));
      this.#held = byte === this.#keys[0] ? 1 : 0;
      if (this.#held === 0) passed.push(byte);
    }
    return { passed: Buffer.from(passed), isDetached: false };
  }
}
