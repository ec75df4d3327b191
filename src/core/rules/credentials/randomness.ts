const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HEX = /^[0-9a-fA-F]+$/;
const ONE_RUN = /^[A-Za-z0-9+/_=.~-]+$/;
// Longer runs are documents (certificates, archives), not keys.
const MAX_KEY_TEXT = 256;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Bits per character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

function kind(code: number): number {
  if (code >= 48 && code <= 57) return 0;
  if (code >= 97 && code <= 122) return 1;
  return code >= 65 && code <= 90 ? 2 : 3;
}

/** The share of neighbours of different kinds (digit, lower, upper, other): words have few, random text many. */
function unrest(text: string): number {
  let changes = 0;
  for (let index = 1; index < text.length; index += 1) {
    if (kind(text.charCodeAt(index)) !== kind(text.charCodeAt(index - 1))) changes += 1;
  }
  return changes / Math.max(1, text.length - 1);
}

/** Text that no one writes by hand: for keys that say nothing, so it is strict. */
export function looksGenerated(text: string): boolean {
  if (text.length < 24 || text.length > MAX_KEY_TEXT || !ONE_RUN.test(text)) return false;
  if (HEX.test(text) || isUuid(text)) return false;
  const mixed = /[a-z]/.test(text) && /[A-Z]/.test(text) && (text.match(/\d/g)?.length ?? 0) >= 2;
  return mixed && unrest(text) >= 0.4 && entropy(text) >= 3.9;
}

/** Text that may well be a key: for keys named `…_KEY`, `…_SALT` and the like. */
export function looksLikeKeyMaterial(value: string): boolean {
  const text = value.replace(/^(?:base64|hex|aes|key)[:=]/i, '');
  if (text.length < 16 || text.length > 4 * MAX_KEY_TEXT || /\s/.test(text) || isUuid(text)) return false;
  if (HEX.test(text)) return entropy(text) >= 2.5 && /\d/.test(text) && /[a-f]/i.test(text);
  if (!/\d/.test(text) || !/[A-Za-z]/.test(text)) return false;
  return entropy(text) >= 3.2 && unrest(text) >= 0.25;
}
