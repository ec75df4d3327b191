const PLAIN = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-+:@%,=';

/** As a shell takes it. */
export function quoted(path: string): string {
  return [...path].every((character) => PLAIN.includes(character))
    ? path
    : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
