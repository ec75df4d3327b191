import { joinId, splitId } from './keys.ts';
import type {
  COLD_OWNERS,
  GLOBAL_OWNERS,
  Names as Named,
  RecordKind,
  Segments,
  TENANT_OWNERS,
} from './owners.ts';

type Rows = typeof GLOBAL_OWNERS & typeof TENANT_OWNERS & typeof COLD_OWNERS;
type Decoded<Names extends readonly string[]> = {
  -readonly [At in keyof Names]: Names[At] extends keyof (Segments & Named)
    ? (Segments & Named)[Names[At]]
    : string;
};
type Given<Names extends readonly string[]> = {
  readonly [At in keyof Names]: Names[At] extends keyof Named ? Named[Names[At]] : string;
};
/** The first ones of several. */
type Leading<Names extends readonly string[]> = Names extends readonly [
  ...infer Rest extends readonly string[],
  string,
]
  ? Given<Rest> | Leading<Rest>
  : never;

/** The id of a record of the kind. */
export function idOf<Kind extends RecordKind>(_kind: Kind, ...segments: Given<Rows[Kind]['id']>): string {
  return joinId(...segments);
}

/** What ids of the kind begin with, for `listUnder` and ranges: the id of what the records belong to. */
export function prefixOf<Kind extends RecordKind>(
  _kind: Kind,
  ...segments: Leading<Rows[Kind]['id']>
): string {
  return joinId(...segments);
}

/** What `idOf` was given. The only place where text of a key becomes a name or an id of the model. */
export function segmentsOf<Kind extends RecordKind>(_kind: Kind, id: string): Decoded<Rows[Kind]['id']> {
  return splitId(id) as Decoded<Rows[Kind]['id']>;
}
