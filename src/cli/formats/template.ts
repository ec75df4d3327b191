import { textOf } from '../fields.ts';
import { pathIn } from './json-path.ts';
import { ExpressionError, Scanner } from './scanner.ts';

/** Several values of one placeholder. */
const BETWEEN = ',';

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '\\': '\\' };

/** A text with paths in it, `{{.name}} on {{.nodeId}}`. What is not there is empty. `\t`, `\n` and `\\` are a tab, a new line and a backslash. */
export function template(text: string): (value: unknown) => string {
  const parts: (string | ((value: unknown) => string))[] = [];
  let plain = '';
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('{{', at)) {
      const { path, end } = placeholder(text, at);
      parts.push(plain, (value) => path(value).map(textOf).join(BETWEEN));
      plain = '';
      at = end;
    } else if (text.startsWith('}}', at)) {
      throw new ExpressionError('}} without a {{ before it', at);
    } else if (text[at] === '\\' && at + 1 < text.length) {
      const letter = text[at + 1] ?? '';
      plain += ESCAPES[letter] ?? `\\${letter}`;
      at += 2;
    } else {
      plain += text[at] ?? '';
      at += 1;
    }
  }
  parts.push(plain);
  return (value) => parts.map((part) => (typeof part === 'string' ? part : part(value))).join('');
}

function placeholder(text: string, at: number) {
  const scanner = new Scanner(text, at + 2);
  scanner.blanks();
  if (scanner.next !== '.' && scanner.next !== '[' && scanner.next !== '$')
    throw scanner.error('expected a path such as .name: there are no words such as range or if');
  const path = pathIn(scanner);
  scanner.blanks();
  scanner.expect('}}', 'to close the placeholder');
  return { path, end: scanner.at };
}
