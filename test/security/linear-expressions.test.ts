import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, type Diagnostics } from 'recheck';
import { describe, expect, it } from 'vitest';
import { attack } from '../support/attack.ts';
import { type SourceFile, sourceFiles, type SyntaxNode } from '../support/source-tree.ts';

interface Expression {
  readonly source: string;
  readonly flags: string;
  readonly at: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Texts that a file keeps in constants, for expressions that are put together from them. */
function constants({ nodes }: SourceFile): ReadonlyMap<string, string> {
  return new Map(
    nodes.flatMap((node) => {
      const { id, init } = node as { id?: { name?: string }; init?: { value?: unknown } | null };
      return node.type === 'VariableDeclarator' && id?.name !== undefined && typeof init?.value === 'string'
        ? [[id.name, init.value] as const]
        : [];
    }),
  );
}

/** The text of `new RegExp(…)`; a part that is only known at run time stands for a word. */
function builtSource(argument: SyntaxNode, known: ReadonlyMap<string, string>): string | undefined {
  if (argument.type === 'Literal' && typeof argument['value'] === 'string') return argument['value'];
  if (argument.type !== 'TemplateLiteral') return undefined;
  const quasis = argument['quasis'] as readonly { readonly value: { readonly cooked: string } }[];
  const parts = argument['expressions'] as readonly SyntaxNode[];
  return quasis
    .map(({ value: { cooked } }, at) => {
      const part = parts[at];
      return part === undefined ? cooked : `${cooked}${known.get(String(part['name'])) ?? 'word'}`;
    })
    .join('');
}

function expressionsOf(file: SourceFile): readonly Expression[] {
  const known = constants(file);
  return file.nodes.flatMap((node): readonly Expression[] => {
    const literal = node['regex'] as { readonly pattern: string; readonly flags: string } | undefined;
    const isMade = node.type === 'NewExpression' && (node['callee'] as Fields)['name'] === 'RegExp';
    if (literal == null && !isMade) return [];
    // Of these alone: counting lines up to every node of the sources took longer than all the rest.
    const at = `${file.path}:${file.lineOf(node)}`;
    if (literal != null) return [{ source: literal.pattern, flags: literal.flags, at }];
    const [argument, flags] = node['arguments'] as readonly SyntaxNode[];
    // A copy of an expression that is a literal elsewhere in the file.
    if (argument?.type === 'Identifier') return [];
    const source = argument && builtSource(argument, known);
    if (source === undefined) throw new Error(`${at}: put together in a way that cannot be judged`);
    return [{ source, flags: typeof flags?.['value'] === 'string' ? flags['value'] : '', at }];
  });
}

/** Generous: the machine may be busy. One of ours takes much longer than all others together; it is judged by search. */
const PROOF_MS = 10_000;

/**
 * Expressions that were proven, so that a run proves only what is new. `PROVE=new` proves those and writes the list with them, `PROVE=all` proves every
 * one again. What is no longer in the sources is no longer in the list.
 */
const PROVEN = join(import.meta.dirname, 'proven-expressions.json');
const PROVE = process.env['PROVE'];

/** By automaton, which is a proof; where that cannot be made (look-arounds, many states), by search for a slow input. */
async function verdictOf({ source, flags }: Expression): Promise<Diagnostics> {
  const proof = await check(source, flags, { checker: 'automaton', timeout: PROOF_MS });
  return proof.status === 'unknown' ? await check(source, flags, { timeout: 60_000 }) : proof;
}

async function problemOf(expression: Expression): Promise<readonly string[]> {
  const verdict = await verdictOf(expression);
  if (verdict.status === 'safe') return [];
  const found = verdict.status === 'vulnerable' ? verdict.complexity.type : verdict.error.kind;
  return [`${expression.at} /${expression.source}/${expression.flags}: ${found}`];
}

describe('regular expressions', () => {
  it('are judged, and one that is quadratic is found', async () => {
    const split = { source: String.raw`\s*;\s*q=`, flags: '', at: 'here' };
    expect(await problemOf(split)).toEqual([String.raw`here /\s*;\s*q=/: polynomial`]);
  });

  attack(
    'anybody',
    'a text made for a regular expression that is not linear',
    async () => {
      const all = sourceFiles(['src/**/*.ts', 'src/**/*.tsx']).flatMap(expressionsOf).toArray();
      const each = new Map(all.map((one) => [`/${one.source}/${one.flags}`, one]));
      expect(each.size).toBeGreaterThan(250);
      const proven = new Set(PROVE === 'all' ? [] : (JSON.parse(readFileSync(PROVEN, 'utf8')) as string[]));
      const problems: string[] = [];
      const unproven = [...each].filter(([text]) => !proven.has(text));
      if (PROVE === undefined && unproven.length > 0)
        console.log(`${unproven.length} expressions are proven in every run until PROVE=new lists them`);
      // One at a time: the limit of a proof is one of time.
      for (const [, expression] of unproven) problems.push(...(await problemOf(expression)));
      expect(problems).toEqual([]);
      if (PROVE !== undefined)
        writeFileSync(PROVEN, `${JSON.stringify([...each.keys()].toSorted(), undefined, 2)}\n`);
    },
    600_000,
  );
});
