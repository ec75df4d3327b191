/** The address of the next page in the `Link` header of a list, if there is one. */
export function nextLink(header: unknown): string | undefined {
  return typeof header === 'string' ? /^<([^<>]+)>\s{0,4};\s{0,4}rel="next"/.exec(header)?.[1] : undefined;
}
