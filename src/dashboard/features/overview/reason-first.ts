const OF_INSTANCE = /^instance \S+ on (\S+) (?:has no container, )?(.+)$/s;
const OF_OTHER = /^(?:instance|volume) \S+: (.+)$/s;
/** Where a message goes on with the next instance. */
const NEXT = /; (?=instance \S+(?: on |: ))/;

/**
 * What a record says of itself, beginning with why: the id of an instance tells nobody anything, its page is one click away, and
 * what the others say is mostly the same.
 */
export function reasonFirst(message: string): string {
  const [first = '', ...others] = message.split(NEXT);
  const [, node, why] = OF_INSTANCE.exec(first) ?? [];
  const said =
    node !== undefined && why !== undefined
      ? `${capitalised(why)} (on ${node})`
      : capitalised(OF_OTHER.exec(first)?.[1] ?? first);
  return others.length === 0 ? said : `${said}, and ${others.length} more`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
