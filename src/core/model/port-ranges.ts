const LAST_PORT = 65_535;

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

function portOf(text: string): number | undefined {
  const port = Number(text);
  // As it is written, so that neither blanks nor `1e3` nor an empty text count.
  return Number.isInteger(port) && port >= 1 && port <= LAST_PORT && String(port) === text ? port : undefined;
}

/** `443` or `8000-8999`. */
export function portRange(text: string): PortRange | undefined {
  const [first = '', last = first, ...rest] = text.split('-');
  const from = portOf(first);
  const to = portOf(last);
  return from === undefined || to === undefined || from > to || rest.length > 0 ? undefined : { from, to };
}

/** Those of the ports that no range holds. Absent: every port is allowed. */
export function portsOutside(
  ports: readonly number[],
  allowed: readonly string[] | undefined,
): readonly number[] {
  if (allowed === undefined) return [];
  const ranges = allowed.flatMap((text) => portRange(text) ?? []);
  return ports.filter((port) => !ranges.some(({ from, to }) => port >= from && port <= to));
}

export function portRangesText(allowed: readonly string[] | undefined): string {
  if (allowed === undefined) return 'any';
  return allowed.length === 0 ? 'none' : allowed.join(', ');
}
