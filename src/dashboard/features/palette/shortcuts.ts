/** After `g`: where it goes. */
export const GO: Readonly<Record<string, readonly [path: string, title: string]>> = {
  o: ['/', 'Overview'],
  d: ['/deployments', 'Deployments'],
  j: ['/jobs', 'Jobs'],
  n: ['/nodes', 'Nodes'],
  t: ['/topology', 'Topology'],
  v: ['/volumes', 'Volumes'],
  s: ['/secrets', 'Secrets'],
  w: ['/networks', 'Network'],
  e: ['/events', 'Events'],
  a: ['/audit', 'Audit'],
};

export type Shortcut =
  | { readonly does: 'palette' | 'search' | 'help' | 'wait' }
  | { readonly does: 'go'; readonly to: string };

/** A key as the browser tells it. */
export interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Where it is pressed. */
export interface Around {
  /** It is meant for a field, a terminal or a window over the page. */
  readonly isTyping: boolean;
  readonly isAfterG: boolean;
  /** By a window of the page, which may show what is shown only once: nothing opens over it. */
  readonly isCovered: boolean;
}

/** What a key means here; undefined: nothing. */
export function shortcutOf(
  { key, ctrlKey, metaKey, altKey }: Pressed,
  { isTyping, isAfterG, isCovered }: Around,
): Shortcut | undefined {
  if (key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey)
    return isCovered ? undefined : { does: 'palette' };
  if (isTyping || ctrlKey || metaKey || altKey) return undefined;
  const to = isAfterG ? GO[key]?.[0] : undefined;
  if (to !== undefined) return { does: 'go', to };
  if (key === 'g') return { does: 'wait' };
  if (key === '/') return { does: 'search' };
  return key === '?' ? { does: 'help' } : undefined;
}
