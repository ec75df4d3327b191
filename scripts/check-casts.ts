import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { ROOT } from './run.ts';

/** Type assertions of the product. The number may fall and never rise: who removes some lowers it in the same commit. */
const CEILING = 45;
/** `x as unknown as T` outside the schema, where the compiler was told to look away. */
const FORCED_CEILING = 0;

const ASSERTIONS = new Set(['TsAsExpression', 'TsTypeAssertion', 'TsNonNullExpression']);

interface Syntax {
  readonly type: string;
  readonly span: { readonly start: number; readonly end: number };
  readonly expression?: unknown;
  readonly typeAnnotation?: { readonly kind?: string };
}

interface Assertion {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly forced: boolean;
}

const isSyntax = (value: unknown): value is Syntax =>
  typeof value === 'object' && value !== null && 'type' in value && 'span' in value;

function visit(value: unknown, seen: (node: Syntax) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (isSyntax(value)) seen(value);
  for (const part of Object.values(value)) visit(part, seen);
}

/** What is asserted to be anything at all, and then to be something. */
function isForced({ expression }: Syntax): boolean {
  if (!isSyntax(expression)) return false;
  if (expression.type === 'ParenthesisExpression') return isForced(expression);
  const { kind } = expression.typeAnnotation ?? {};
  return ASSERTIONS.has(expression.type) && (kind === 'unknown' || kind === 'any' || kind === 'never');
}

/** `as const` and `satisfies` are syntax of another name: they assert nothing. */
function assertionsOf(file: string): Assertion[] {
  const source = readFileSync(join(ROOT, file));
  const found: Assertion[] = [];
  const tree = parseSync(source.toString(), {
    syntax: 'typescript',
    tsx: file.endsWith('x'),
    target: 'esnext',
  });
  visit(tree, (node) => {
    if (!ASSERTIONS.has(node.type)) return;
    // Positions are bytes, and the first is 1.
    const text = source.subarray(node.span.start - 1, node.span.end - 1).toString();
    const line = source
      .subarray(0, node.span.end - 1)
      .toString()
      .split('\n').length;
    found.push({ file, line, text: text.replaceAll(/\s+/g, ' '), forced: isForced(node) });
  });
  return found;
}

const say = (text: string) => process.stdout.write(`  ${text}\n`);

const all = globSync('src/**/*.{ts,tsx}', { cwd: ROOT })
  .filter((file) => !/\.test\.tsx?$/.test(file))
  .toSorted()
  .flatMap(assertionsOf);
const forced = all.filter((one) => one.forced && !one.file.startsWith('src/core/schema/'));

if (process.argv.includes('--list')) {
  for (const { file, line, text } of all) say(`${file}:${line}: ${text.slice(-100)}`);
  const folders = Map.groupBy(all, ({ file }) => file.split('/').slice(0, 3).join('/'));
  for (const [folder, { length }] of folders) say(`${String(length).padStart(4)} ${folder}`);
}
say(
  `${all.length} type assertions (at most ${CEILING}), ${forced.length} forced outside the schema (at most ${FORCED_CEILING})`,
);
const fits = all.length <= CEILING && forced.length <= FORCED_CEILING;
if (!fits) for (const { file, line, text } of forced) say(`${file}:${line}: ${text.slice(-100)}`);
process.exit(fits ? 0 : 1);
