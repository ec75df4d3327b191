const ZERO = 48;
const NINE = 57;

export function isDigit(char: number): boolean {
  return char >= ZERO && char <= NINE;
}

export const ROUNDED_NUMBER =
  'A number with a fraction is so close to a whole one that it would be read as that; send the number that is meant.';

/**
 * Whether a decimal literal is a whole number only because it was rounded: `100.00000000000000001`, `1e-400`. Another decimal stays one,
 * and what is too large to be exact, or infinite, is refused by the rule of its field.
 */
export function becomesWhole(literal: string): boolean {
  if (!Number.isSafeInteger(Number(literal))) return false;
  const exponentAt = literal.search(/e/i);
  const end = exponentAt === -1 ? literal.length : exponentAt;
  const dot = literal.indexOf('.');
  const point = dot === -1 ? end : dot;
  let last = end - 1;
  while (last >= 0 && !(literal.charCodeAt(last) > ZERO && literal.charCodeAt(last) <= NINE)) last -= 1;
  if (last < 0) return false;
  const place = last < point ? point - 1 - last : point - last;
  return place + (exponentAt === -1 ? 0 : Number(literal.slice(exponentAt + 1))) < 0;
}
