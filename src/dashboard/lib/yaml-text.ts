import { isRecord, messageOf } from '../../core/model/values.ts';
import { isNode, LineCounter, parseDocument, stringify } from 'yaml';
import { fieldSteps } from './rejection.ts';
import type { Draft } from './draft.ts';

export interface YamlProblem {
  readonly line: number;
  readonly message: string;
}

export type YamlReading = { readonly draft: Draft } | { readonly problem: YamlProblem };

/** One document that is a map; anything else is reported with its line. */
export function readYaml(text: string): YamlReading {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined)
    return { problem: { line: lines.linePos(error.pos[0]).line, message: error.message } };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    return { problem: { line: 1, message: messageOf(cause) } };
  }
  if (!isRecord(value)) return { problem: { line: 1, message: 'A description is a map of fields.' } };
  return { draft: value };
}

/** The line of a field, or of the nearest part of its path that is there; undefined: nothing of it is. */
export function lineOf(text: string, field: string): number | undefined {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const steps = fieldSteps(field).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  for (let length = steps.length; length > 0; length -= 1) {
    const node = document.getIn(steps.slice(0, length), true);
    const start = isNode(node) ? node.range?.[0] : undefined;
    if (start !== undefined) return lines.linePos(start).line;
  }
  return undefined;
}

export function writeYaml(draft: Draft): string {
  return stringify(draft);
}
