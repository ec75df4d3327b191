import { open, readFile, rename } from 'node:fs/promises';
import { isRecord } from '../../core/model/values.ts';
import { COARSE, COLUMNS, FINE } from './columns.ts';
import type { SavedRing } from './ring.ts';
import type { GroupName, Series } from './series.ts';

/** Says what the figures behind it are; a file of another form is not read. */
const FORM = JSON.stringify({ form: 1, columns: COLUMNS, levels: [FINE, COARSE] });
const NEWLINE = 0x0a;
/** One that another release does not have is passed over by it. */
const GROUPS: readonly GroupName[] = ['usage', 'state', 'rounds'];
const FIGURE_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** Whose a series is. `stamp` tells a record from a later one of the same name. */
export interface SeriesName {
  readonly tenantId: string;
  readonly kind: string;
  readonly name: string;
  readonly stamp: string;
}

interface Heading extends SeriesName {
  readonly rings: readonly {
    readonly group: string;
    readonly at: number;
    readonly newest: number;
    readonly counts: readonly number[];
    readonly length: number;
  }[];
}

/**
 * A line of the form; then of each series a line of its name and the lengths of its rings, and the figures themselves. A figure that is
 * taken meanwhile is in it or not. Not synced: after a power cut it may be the one before, or none.
 */
export async function writeHistory(
  path: string,
  all: Iterable<readonly [SeriesName, Series]>,
): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.write(`${FORM}\n`);
    for (const [name, series] of all) {
      const rings = GROUPS.flatMap((group) =>
        (series.groups[group] ?? []).map((ring, at) => ({ group, at, ...ring.saved() })),
      );
      const heading: Heading = {
        ...name,
        rings: rings.map(({ values: { length }, ...one }) => ({ ...one, length })),
      };
      await file.writev([
        Buffer.from(`${JSON.stringify(heading)}\n`),
        ...rings.map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
      ]);
    }
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** What can be read of it; a file that ends early, or of another form, ends the reading. */
export async function readHistory(
  path: string,
  series: (name: SeriesName) => Series | undefined,
): Promise<void> {
  const content = await readFile(path);
  let at = 0;
  const line = (): string | undefined => {
    const end = content.indexOf(NEWLINE, at);
    if (end === -1) return undefined;
    const text = content.toString('utf8', at, end);
    at = end + 1;
    return text;
  };
  if (line() !== FORM) return;
  for (let text = line(); text !== undefined; text = line()) {
    const heading = headingOf(text);
    if (heading === undefined) return;
    const found = series(heading);
    for (const { group, at: which, newest, counts, length } of heading.rings) {
      const bytes = length * FIGURE_BYTES;
      if (at + bytes > content.length) return;
      // Copied: figures have to begin at a multiple of their size.
      const values = new Float32Array(new Uint8Array(content.subarray(at, at + bytes)).buffer);
      at += bytes;
      const known = GROUPS.find((one) => one === group);
      const saved: SavedRing = { newest, counts, values };
      if (found !== undefined && known !== undefined) found.rings(known)[which]?.restore(saved);
    }
  }
}

function headingOf(text: string): Heading | undefined {
  const value: unknown = JSON.parse(text);
  return isHeading(value) ? value : undefined;
}

function isHeading(value: unknown): value is Heading {
  return (
    isRecord(value) &&
    ['tenantId', 'kind', 'name', 'stamp'].every((field) => typeof value[field] === 'string') &&
    Array.isArray(value['rings']) &&
    value['rings'].every(
      (ring: unknown) =>
        isRecord(ring) &&
        Number.isSafeInteger(ring['newest']) &&
        Number.isSafeInteger(ring['at']) &&
        Number.isSafeInteger(ring['length']) &&
        Array.isArray(ring['counts']) &&
        ring['counts'].every((count: unknown) => Number.isSafeInteger(count)),
    )
  );
}
