/** What becomes of a node that states no country where countries are blocked. */
export type UnstatedCountry = 'keep' | 'refuse';

/** What a residency is judged by beside the labels of a node. */
export interface ResidencyTerms {
  readonly regions: readonly Region[];
  /** Absent: `keep`. */
  readonly unstated?: UnstatedCountry;
}

export interface Region {
  readonly name: string;
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countries: readonly string[];
}
