/** A host name is not always a node name: `Büro_PC.local` is not. Empty: nothing of it can be one. */
export function nodeNameOf(hostname: string): string {
  return hostname
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 63)
    .replace(/[^a-z0-9]{1,63}$/, '');
}
