/** A part of a status message that is about one instance: its id, its node, and what is said of it. */
const OF_INSTANCE = /^instance (ins_[a-z0-9]+)(?: on (\S+)|: node (\S+)) (.+)$/s;
const PARTS = /; (?=instance ins_|and \d+ more instances|\d+ of \d+ instances)/;

/**
 * A status message for a list: what is wrong comes first, and of whom after it; instances with the same trouble are said together. The message
 * itself names each by its id, which one reads only when looking closely.
 */
export function reasonFirst(message: string): string {
  const said = new Map<string, string[]>();
  for (const part of message.split(PARTS)) {
    const [, , node, away, what] = OF_INSTANCE.exec(part) ?? [];
    const reason = what === undefined ? part : away === undefined ? what : `node ${away} ${what}`;
    said.set(reason, [...(said.get(reason) ?? []), ...(node === undefined ? [] : [node])]);
  }
  return [...said]
    .map(([reason, nodes]) => {
      if (nodes.length === 0) return reason;
      const places = [...new Set(nodes)].join(', ');
      return nodes.length === 1 ? `${reason} (on ${places})` : `${reason} (${nodes.length} on ${places})`;
    })
    .join('; ');
}
