/** What is said of a pair that holds a credential. Both texts come from the rules, never from the value. */
export interface CredentialFinding {
  /** Stable: it is published on the docs page of the code. */
  readonly rule: string;
  readonly why: string;
}

/** One pair of `environment`, prepared once for all rules. */
export interface EnvironmentPair {
  readonly key: string;
  readonly value: string;
  /** The words of the key, in lower case. */
  readonly words: readonly string[];
}

export type CredentialRule = (pair: EnvironmentPair) => CredentialFinding | undefined;

/**
 * Linux refuses to start a process with an environment string longer than 128 KiB (MAX_ARG_STRLEN), so the
 * costlier rules look no further. Private keys, signed tokens and addresses are found at any depth.
 */
const EXAMINED_LENGTH = 131_072;

export function examined(value: string): string {
  return value.length > EXAMINED_LENGTH ? value.slice(0, EXAMINED_LENGTH) : value;
}
