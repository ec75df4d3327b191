const TOKEN = /\s*(\d+|[-+*/%()])/y;
/** Beyond it shells differ in how wide a number is. */
const MAX_VALUE = 1e9;
const MAX_DEPTH = 32;

const STRENGTH: Readonly<Record<string, number>> = { '+': 1, '-': 1, '*': 2, '/': 2, '%': 2 };

function applied(operator: string, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return Math.trunc(left / right);
    default:
      return left % right;
  }
}

/** The constants and operators of an expression; nothing when anything else is in it, or what shells read as `++`, `--` or octal. */
function tokensIn(text: string): readonly string[] | undefined {
  if (/\+\+|--|\*\*/.test(text)) return undefined;
  const solid = text.trimEnd();
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < solid.length) {
    const token = TOKEN.exec(solid)?.[1];
    if (token === undefined || /^0\d/.test(token)) return undefined;
    tokens.push(token);
  }
  return tokens;
}

/** The value of an arithmetic expression of constants alone; nothing for any other, and where a shell would refuse it. */
export function constantValue(text: string): number | undefined {
  const tokens = tokensIn(text);
  if (tokens === undefined) return undefined;
  let at = 0;

  function operand(depth: number): number | undefined {
    const token = tokens?.[at];
    at += 1;
    if (token === undefined || depth > MAX_DEPTH) return undefined;
    if (token === '-' || token === '+') {
      const value = operand(depth + 1);
      return value === undefined || token === '+' ? value : -value;
    }
    if (token !== '(') return /^\d/.test(token) ? Number(token) : undefined;
    const value = chain(1, depth + 1);
    at += 1;
    return tokens?.[at - 1] === ')' ? value : undefined;
  }

  function chain(least: number, depth: number): number | undefined {
    let left = operand(depth);
    for (;;) {
      const operator = tokens?.[at] ?? '';
      const strength = STRENGTH[operator] ?? 0;
      if (left === undefined || strength < least) return left;
      at += 1;
      const right = chain(strength + 1, depth);
      if (right === undefined) return undefined;
      left = applied(operator, left, right);
      if (!(Math.abs(left) <= MAX_VALUE)) return undefined;
    }
  }

  const value = chain(1, 0);
  return at === tokens.length && value !== undefined && Math.abs(value) <= MAX_VALUE ? value + 0 : undefined;
}
