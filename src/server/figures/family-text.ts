import type { Family } from './family.ts';

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function labelText(value: string): string {
  return value.replaceAll(/[\\"\n]/g, (found) => ESCAPES[found] ?? found);
}

function valueText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** In the text format of Prometheus. Written here, because the library's own writing takes several times as long for many series. */
export function familyText({ name, help, type, read }: Family): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type ?? 'gauge'}\n`;
  for (const [labels, value] of read()) {
    let of = '';
    for (const label in labels) of += `${of === '' ? '{' : ','}${label}="${labelText(labels[label] ?? '')}"`;
    text += `${name}${of === '' ? '' : `${of}}`} ${valueText(value)}\n`;
  }
  return text;
}
