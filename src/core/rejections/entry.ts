/** One code of the catalogue, as data. The documentation page, the OpenAPI document and the HTTP status come from it. */
export interface CatalogueEntry {
  /** HTTP status. A code whose status depends on the cause lists the other one in `alsoStatus`. */
  readonly status: number;
  readonly alsoStatus?: number;
  /** Where the rejection points: `name`, `secrets[<i>].name`, `computed` … */
  readonly field: string;
  /** One sentence: what is wrong. */
  readonly title: string;
  /** Why the rule exists and what causes the refusal; plain sentences. Backticks mark what is code. */
  readonly cause: string;
  /** The accepted form; the default of `expected`. */
  readonly accepted: string;
  /** A request (fragment) that is refused, and the same corrected. */
  readonly failing: string;
  readonly corrected: string;
  /** Section of the specification, or `extension`. */
  readonly origin: '7.1' | '7.2' | '7.3' | '7.4' | '7.5' | 'extension';
}

/** Keeps the keys literal, so that a misspelt code does not compile anywhere. */
export function entries<const T extends Record<string, CatalogueEntry>>(area: T): T {
  return area;
}
