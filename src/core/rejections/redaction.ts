import { utf8Length } from '../model/text-bytes.ts';

const MAX_RECEIVED = 256;

/** The JSON text of a value (bare for strings), cut, for the `received` of a rejection. Never call it on what may hold a credential. */
export function received(value: unknown): string {
  if (value === undefined) return '(absent)';
  // A number may be too large for one; JSON has no text for what it becomes.
  const isBare = typeof value === 'string' || (typeof value === 'number' && !Number.isFinite(value));
  const text = isBare ? String(value) : (JSON.stringify(value) ?? typeName(value));
  return text.length <= MAX_RECEIVED ? text : `${withoutHalfPair(text.slice(0, MAX_RECEIVED - 1))}…`;
}

/** A cut may fall inside a surrogate pair; half of one is not valid text in the JSON answer. */
function withoutHalfPair(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '');
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** What may be said of a value that is or may hold a credential: its type and size, nothing else. */
export function redacted(value: unknown): string {
  if (value === undefined) return '(absent)';
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return `(redacted, ${typeName(value)}, ${utf8Length(text)} bytes)`;
}

const MAX_NAMED_KEY = 64;
const NAMED_KEY = /^[A-Za-z0-9_.-]+$/;

const PASTED_LENGTH = 24;
const PASTED_DIGITS = 4;

/** Long, and of capitals and small letters mixed or with many digits: may be a value that landed where a name belongs. */
export function looksPasted(key: string): boolean {
  if (key.length < PASTED_LENGTH) return false;
  return (/[a-z]/.test(key) && /[A-Z]/.test(key)) || (key.match(/\d/g)?.length ?? 0) >= PASTED_DIGITS;
}

/**
 * Path of a member of a map. A key that looks like no key at all may be a pasted credential and would be copied into
 * `field`, so that only the map is named then.
 */
export function memberField(field: string, key: string): string {
  return key.length <= MAX_NAMED_KEY && NAMED_KEY.test(key) && !looksPasted(key) ? `${field}.${key}` : field;
}
