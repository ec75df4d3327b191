/** As JSON Schema counts them: code points, not the units of a string, of which some characters take two. */
export function charactersIn(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}
