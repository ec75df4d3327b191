import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sourceFiles } from '../support/source-tree.ts';

const PAGE = join(import.meta.dirname, '../../docs/guide/security.md');

/** Rows of the table under the given heading, without their last column. */
function rowsUnder(heading: string): readonly string[] {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split(`\n## ${heading}\n`, 2);
  return section
    .split('\n## ', 1)
    .join('')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Who |'))
    .map((line) => line.split(' | ').slice(0, 2).join(' | ').replace('| ', ''));
}

function registered(): readonly string[] {
  const files = sourceFiles(['test/security/**/*.test.ts'], /^$/);
  return [...files].flatMap(({ path, nodes, lineOf }) =>
    nodes.flatMap((node) => {
      if (node.type !== 'CallExpression' || (node['callee'] as { name?: string }).name !== 'attack')
        return [];
      const [who, what] = node['arguments'] as readonly { readonly value?: unknown }[];
      if (typeof who?.value !== 'string' || typeof what?.value !== 'string')
        throw new Error(`${path}:${lineOf(node)}: who and what of an attack are literals`);
      return [`${who.value} | ${what.value}`];
    }),
  );
}

it("the guide's table of attacks has the attacks that are tested, each once", () => {
  const tested = registered();
  expect(tested.length).toBeGreaterThan(0);
  expect(rowsUnder('Attacks that are tested').toSorted()).toEqual(tested.toSorted());
});
