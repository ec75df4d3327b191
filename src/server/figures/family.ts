/** One figure of a family: what it is of, and its value. */
export type Sample<Label extends string> = readonly [Readonly<Record<Label, string>>, number];

/** Figures of one name, read when the metrics are. Whoever makes it bounds the sets of labels. */
export interface Family<Label extends string = string> {
  readonly name: string;
  readonly help: string;
  /** Absent: a gauge. */
  readonly type?: 'counter';
  readonly labels: readonly Label[];
  readonly read: () => Iterable<Sample<Label>>;
}

/** Types of the labels are those of the read function, and of nobody else. */
export function family<Label extends string>(described: Family<Label>): Family {
  return described;
}
