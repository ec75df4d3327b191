import type { Document, LineCounter } from 'yaml';

/** Where a field of a document is in its file, as editors take it: `12:5`. */
export type PlaceOf = (field: string) => string;

/** What of the field's path is left after this name, if the path leads through it. */
function after(path: string, name: string): string | undefined {
  if (!path.startsWith(name)) return undefined;
  const rest = path.slice(name.length);
  if (rest === '' || rest.startsWith('[')) return rest;
  return rest.startsWith('.') ? rest.slice(1) : undefined;
}

interface Step {
  readonly start: number | undefined;
  readonly node: unknown;
  readonly rest: string;
}

/**
 * `ports[1].container` by the nodes of the document. The key of what is named; of what is not there, that of the nearest thing around it,
 * or the start of the document.
 */
export async function placesIn(document: Document, lines: LineCounter): Promise<PlaceOf> {
  const { isMap, isScalar, isSeq, isNode } = await import('yaml');
  const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);
  const stepInto = (node: unknown, path: string): Step | undefined => {
    if (isSeq(node)) {
      const [whole = '', index = ''] = /^\[(\d{1,9})\]\.?/.exec(path) ?? [];
      const item = whole === '' ? undefined : node.items[Number(index)];
      return item === undefined
        ? undefined
        : { start: startOf(item), node: item, rest: path.slice(whole.length) };
    }
    if (!isMap(node)) return undefined;
    // The longest first: a key may hold dots.
    const steps = node.items.flatMap(({ key, value }): Step[] => {
      const rest = isScalar(key) ? after(path, String(key.value)) : undefined;
      return rest === undefined ? [] : [{ start: startOf(key), node: value, rest }];
    });
    return steps.sort((a, b) => a.rest.length - b.rest.length)[0];
  };
  return (field) => {
    let node: unknown = document.contents;
    let start = startOf(node) ?? document.range?.[0] ?? 0;
    for (let path = field; path !== ''; ) {
      const step = stepInto(node, path);
      if (step === undefined) break;
      start = step.start ?? start;
      node = step.node;
      path = step.rest;
    }
    const { line, col } = lines.linePos(start);
    return `${line}:${col}`;
  };
}
