const WIDTH = 60;

/** An example of the catalogue, taken apart: request or status line and headers, then the JSON body. */
export interface Example {
  readonly head: readonly string[];
  readonly body?: unknown;
}

function isJson(text: string): boolean {
  return text.startsWith('{') || text.startsWith('[');
}

/** Throws on a malformed body: the catalogue is data, and a broken example in it is a defect. */
export function parseExample(text: string): Example {
  if (isJson(text)) return { head: [], body: JSON.parse(text) };
  const gap = text.indexOf('\n\n');
  if (gap === -1) return { head: text.split('\n') };
  return { head: text.slice(0, gap).split('\n'), body: JSON.parse(text.slice(gap + 2)) };
}

function members(value: object, indent: string): readonly string[] {
  if (Array.isArray(value)) return value.map((item) => layOut(item, indent));
  return Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${layOut(item, indent)}`);
}

function layOut(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const inside = members(value, `${indent}  `);
  if (inside.length === 0) return `${open}${close}`;
  const pad = Array.isArray(value) ? '' : ' ';
  const flat = `${open}${pad}${inside.join(', ')}${pad}${close}`;
  // The outermost value is always opened, so that a failing and a corrected example can be compared by line.
  if (indent !== '' && !flat.includes('\n') && indent.length + flat.length <= WIDTH) return flat;
  return `${open}\n${inside.map((line) => `${indent}  ${line}`).join(',\n')}\n${indent}${close}`;
}

/** A remark behind several spaces ("while the store is away") is set apart as a comment. */
function layOutHead(line: string): string {
  return line.replace(/ {3,64}(?=\S)/, '   # ');
}

/** The example as lines to print, the JSON laid out for reading. */
export function exampleLines(text: string): readonly string[] {
  const example = parseExample(text);
  const head = example.head.map(layOutHead);
  if (example.body === undefined) return head;
  const body = layOut(example.body, '').split('\n');
  return head.length === 0 ? body : [...head, '', ...body];
}
