import { isRecord, messageOf } from '../../core/model/values.ts';
import { AS_JSON, sendingFault } from '../../shared/yaml-content.ts';
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { fieldSteps } from './rejection.ts';
import type { Draft } from './draft.ts';

export interface YamlProblem {
  readonly line: number;
  readonly message: string;
}

export type YamlReading = { readonly draft: Draft } | { readonly problem: YamlProblem };

/** One document that is a map, and of what JSON can say; anything else is reported with its line. */
export function readYaml(text: string): YamlReading {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...AS_JSON, lineCounter: lines });
  const lineAt = (at: number): number => lines.linePos(at).line;
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) return { problem: { line: lineAt(error.pos[0]), message: error.message } };
  const fault = sendingFault(document.contents, { isMap, isScalar, isSeq, visit });
  if (fault !== undefined) return { problem: { line: lineAt(fault.at), message: fault.why } };
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
