/** The labels that a tenant's nodes advertise, to help with a constraint that matches nothing. */
export interface AdvertisedLabels {
  has(key: string): boolean;
  keys(): readonly string[];
  values(key: string): readonly string[];
  /** Keys that the user may have meant: the same last part (`rack` for `node.labels.rack`) or a slip of the hand. */
  nearKeys(key: string): readonly string[];
}

const MAX_NEAR = 5;
const MAX_COMPARED = 128;

export function advertisedLabels(nodes: Iterable<Readonly<Record<string, string>>>): AdvertisedLabels {
  const found = new Map<string, Set<string>>();
  for (const labels of nodes) {
    for (const [key, value] of Object.entries(labels)) {
      const values = found.get(key);
      if (values) values.add(value);
      else found.set(key, new Set([value]));
    }
  }
  const keys = [...found.keys()].sort();
  // An explanation asks for the same key once per node.
  const near = new Map<string, readonly string[]>();
  return {
    has: (key) => found.has(key),
    keys: () => keys,
    values: (key) => [...(found.get(key) ?? [])].sort(),
    nearKeys: (key) => {
      const answer = near.get(key) ?? nearest(keys, key);
      near.set(key, answer);
      return answer;
    },
  };
}

function nearest(keys: readonly string[], wanted: string): readonly string[] {
  return keys
    .map((key) => ({ key, distance: likeness(key.toLowerCase(), wanted.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(wanted.length / 3)))
    .sort((a, b) => a.distance - b.distance || (a.key < b.key ? -1 : 1))
    .slice(0, MAX_NEAR)
    .map(({ key }) => key);
}

function likeness(key: string, wanted: string): number {
  if (lastPart(key) === lastPart(wanted)) return 0;
  return Math.min(
    editDistance(key.slice(0, MAX_COMPARED), wanted.slice(0, MAX_COMPARED)),
    editDistance(lastPart(key), lastPart(wanted)),
  );
}

function lastPart(key: string): string {
  return (key.split(/[./]/).at(-1) ?? key).slice(0, MAX_COMPARED);
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
