/** Members of a stored record. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * A change of the meaning of stored records that an earlier release would misread. Members that are added, or may be absent, need none:
 * every release ignores what it does not know. `down` is what makes a rolling upgrade possible: it is applied to everything that is written
 * until no control plane of the earlier release is left.
 */
export interface Migration {
  /** For the log and `docs/guide/upgrade.md`. */
  readonly about: string;
  /** Whose records change; none: what is written beside one another does. */
  readonly kinds: readonly string[];
  readonly up: (kind: string, members: Members) => Members;
  readonly down: (kind: string, members: Members) => Members;
}

/** The first format. What this release can read begins here. */
export const OLDEST_FORMAT = 1;

/** In order, one format each: the first leads from `OLDEST_FORMAT` to the one after it. */
export const MIGRATIONS: readonly Migration[] = [
  {
    // `DERIVED_ROWS_FORMAT`. Until it is raised both rows are written as before, so that no record needs a step.
    about: "a deployment's record may stand for its snapshot and its newest archive version",
    kinds: [],
    up: (_kind, members) => members,
    down: (_kind, members) => members,
  },
];
