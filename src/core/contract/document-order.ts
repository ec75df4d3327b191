import { isRecord } from '../model/values.ts';

/** Kinds that a set of documents may hold, those that others refer to first. */
export const DOCUMENT_KINDS = [
  'Network',
  'Volume',
  'Secret',
  'Deployment',
  'ScalingPolicy',
  'Job',
  'Webhook',
] as const;

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** A document that names no kind. */
export const DEFAULT_KIND: DocumentKind = 'Deployment';

export type Document = Readonly<Record<string, unknown>>;

/** Undefined: one that cannot be in a set. */
export function kindOf({ kind }: Document): DocumentKind | undefined {
  return kind === undefined || kind === null ? DEFAULT_KIND : DOCUMENT_KINDS.find((one) => one === kind);
}

function dependenciesOf({ dependsOn }: Document): readonly string[] {
  return isRecord(dependsOn) ? Object.keys(dependsOn) : [];
}

/** What each depends on comes before it, else as they are. A circle is no order: its rule refuses it. */
function byDependencies<T extends { readonly document: Document }>(entries: readonly T[]): readonly T[] {
  const byName = new Map(entries.map((entry) => [entry.document['name'], entry]));
  const ordered = new Set<T>();
  const seen = new Set<T>();
  // A list and no recursion: a chain may be long.
  const open = entries.toReversed();
  for (let entry = open.at(-1); entry !== undefined; entry = open.at(-1)) {
    const waiting = seen.has(entry)
      ? []
      : dependenciesOf(entry.document).flatMap((name) => byName.get(name) ?? []);
    seen.add(entry);
    const before = waiting.filter((one) => !seen.has(one));
    if (before.length > 0) open.push(...before.toReversed());
    else ordered.add(open.pop() ?? entry);
  }
  return [...ordered];
}

/** The order in which a set is judged and written: what others refer to first, otherwise as it was given. */
export function inDocumentOrder<T extends { readonly document: Document }>(
  entries: readonly T[],
): readonly T[] {
  const byKind = Map.groupBy(entries, ({ document }) => kindOf(document));
  const of = (kind: DocumentKind | undefined): readonly T[] => byKind.get(kind) ?? [];
  return [
    ...DOCUMENT_KINDS.flatMap((kind) => (kind === 'Deployment' ? byDependencies(of(kind)) : of(kind))),
    ...of(undefined),
  ];
}
