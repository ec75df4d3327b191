import { scanJson } from '../core/schema/json-scan.ts';
import { isRecord, messageOf } from '../core/model/values.ts';
import { type Failure, usage } from './failure.ts';

/** JSON that is sent on. What stands in it is never repeated: it may be a secret. */
export function inputJson(text: string, source: string, advice: readonly string[] = []): unknown {
  const refusal = (why: string): Failure => usage(`${source} ${why}`, advice);
  switch (scanJson(text, Number.POSITIVE_INFINITY)) {
    case 'duplicate_key':
      throw refusal('holds the same key twice in an object; one of the two values would be lost');
    case 'prototype_key':
      throw refusal('holds the key __proto__, which is not accepted');
    default:
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(messageOf(error)) ?? [];
    throw refusal(`is not valid JSON${line === undefined ? '' : `, at ${line}:${column}`}`);
  }
  if (!isSendable(value)) throw refusal('holds a number that is too large');
  return value;
}

/** Sent on, it would be null. */
function isSendable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  const members = isRecord(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return members.every(isSendable);
}
