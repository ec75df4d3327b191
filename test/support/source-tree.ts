import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vite';

const ROOT = join(import.meta.dirname, '../..');

/** A node of the syntax tree; what is read of it is looked at by name. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

export interface SourceFile {
  readonly path: string;
  readonly nodes: readonly SyntaxNode[];
  lineOf(node: SyntaxNode): number;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function collect(value: unknown, into: SyntaxNode[]): void {
  if (Array.isArray(value)) for (const one of value) collect(one, into);
  else if (isNode(value)) {
    into.push(value);
    for (const field of Object.values(value)) if (typeof field === 'object') collect(field, into);
  }
}

/** Files of this repository with every node of their syntax trees: one after the other, since the trees of all would fill a heap. */
export function* sourceFiles(
  patterns: readonly string[],
  skip: RegExp = /\.test\.ts$/,
): Generator<SourceFile> {
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
  for (const path of paths.filter((one) => !skip.test(one)).toSorted()) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const nodes: SyntaxNode[] = [];
    collect(parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }, path), nodes);
    yield { path, nodes, lineOf: ({ start }) => text.slice(0, start).split('\n').length };
  }
}
