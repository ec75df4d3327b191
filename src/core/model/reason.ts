/** A part of a message that is about one instance or volume: where it is, and what is said of it. */
const OF_INSTANCE = /^instance \S+ on (\S+) (?:has no container, )?(.+)$/s;
const OF_OTHER = /^(?:instance|volume) \S+: (.+)$/s;
/** Where a message goes on with something else. */
const NEXT = /; (?=instance \S+(?: on |: )|and \d+ more instances|\d+ of \d+ instances)/;

/**
 * What a record says of itself in a list, beginning with why: the id of an instance tells nobody anything, and it is on the instance's own
 * page. Instances with the same trouble are said together.
 */
export function reasonOf(message: string): string {
  const said = new Map<string, readonly string[]>();
  for (const part of message.split(NEXT)) {
    const [, node, why] = OF_INSTANCE.exec(part) ?? [];
    const reason = why ?? OF_OTHER.exec(part)?.[1] ?? part;
    said.set(reason, [...(said.get(reason) ?? []), ...(node === undefined ? [] : [node])]);
  }
  return [...said].map(([reason, nodes]) => `${reason}${placesText(nodes)}`).join('; ');
}

function placesText(nodes: readonly string[]): string {
  if (nodes.length === 0) return '';
  return ` (${nodes.length === 1 ? '' : `${nodes.length} `}on ${[...new Set(nodes)].join(', ')})`;
}
