/** Without the given character at the end. An expression such as `x+$` would read a long run once per place to start. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
