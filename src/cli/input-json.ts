import { isRecord, messageOf } from '../core/model/values.ts';
import { ROUNDED_NUMBER } from '../core/schema/exact-number.ts';
import { scanJson } from '../core/schema/json-scan.ts';
import { type Failure, usage } from './failure.ts';

/** As a control plane takes it; what reads it recurses. */
const MAX_DEPTH = 32;
const BYTE_ORDER_MARK = /^\uFEFF/;

/** JSON that is sent on. What stands in it is never repeated: it may be a secret. */
export function inputJson(given: string, source: string, advice: readonly string[] = []): unknown {
  const refusal = (why: string): Failure => usage(`${source} ${why}`, advice);
  // Editors of Windows begin a file with it.
  const text = given.replace(BYTE_ORDER_MARK, '');
  switch (scanJson(text, MAX_DEPTH)) {
    case 'too_deep':
      throw refusal(`is nested more than ${MAX_DEPTH} levels deep`);
    case 'duplicate_key':
      throw refusal('holds the same key twice in an object; one of the two values would be lost');
    case 'prototype_key':
      throw refusal('holds the key __proto__, which is not accepted');
    case 'rounded_number':
      throw usage(`${source}: ${ROUNDED_NUMBER}`, advice);
    case 'too_many':
    case undefined:
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
