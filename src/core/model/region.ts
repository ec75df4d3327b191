export interface Region {
  readonly name: string;
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countries: readonly string[];
}
