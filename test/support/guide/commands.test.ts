import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CommandBody } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/cli/commands/index.ts';
import { type CommandStep, parsePage } from './page.ts';
import { GUIDE } from './rewriting.ts';

/** Of this program, but read by it elsewhere. */
const PROGRAMS = new Set(['server', 'agent']);
const ALWAYS = new Set(['-h', '--help', '--version']);

/** The commands of this program in a line of a shell, up to what belongs to another program. */
function calls(text: string): readonly (readonly string[])[] {
  const plain = text.replaceAll('\\\n', ' ').replaceAll(/'[^']*'|"[^"]*"/g, 'TEXT');
  return [...plain.matchAll(/(?:^|[|;&(]|\b(?:do|then|sudo))\s*berth ([^|;&()<>#\n]+)/gm)].map(
    ([, words = '']) => (words.split(' -- ')[0] ?? '').trim().split(/\s+/),
  );
}

/** What it names that there is not. */
async function unknownIn([name = '', ...words]: readonly string[]): Promise<readonly string[]> {
  if (PROGRAMS.has(name) || ALWAYS.has(name)) return [];
  const entry = COMMANDS.find((command) => command.name === name);
  if (entry === undefined) return [name];
  let body: CommandBody = await entry.load();
  const unknown: string[] = [];
  for (const word of words) {
    const below = body.subcommands?.find(
      ({ name: own, aliases = [] }) => own === word || aliases.includes(word),
    );
    if (below !== undefined) body = below;
    else if (body.run === undefined && !word.startsWith('-')) unknown.push(word);
    else if (/^--?[a-z]/.test(word)) {
      const [flag = ''] = word.split('=');
      const known = (body.options ?? []).some(({ flags }) => flags.split(/[ ,]+/).includes(flag));
      // Short ones may stand together: -it.
      const together = Array.from(flag.slice(1)).every((letter) =>
        (body.options ?? []).some(({ flags }) => flags.split(/[ ,]+/).includes(`-${letter}`)),
      );
      if (!known && !ALWAYS.has(flag) && !(together && !flag.startsWith('--'))) unknown.push(flag);
    }
  }
  return unknown;
}

/** Pages are followed by `test/system/guide`, some of them in the long tier alone: what they write down is there in every run. */
describe('commands that the guide writes down', () => {
  it.each(readdirSync(GUIDE).filter((name) => name.endsWith('.md')))('%s', async (name) => {
    const { steps } = parsePage(name, readFileSync(join(GUIDE, name), 'utf8'));
    const written = steps.filter((step): step is CommandStep => step.kind === 'command' && step.status !== 2);
    for (const { line, text } of written)
      for (const call of calls(text))
        expect({ line, call: call.join(' '), unknown: await unknownIn(call) }).toMatchObject({ unknown: [] });
  });

  it('are told from those that are not there', async () => {
    expect(calls('x=$(berth get nodes -o json | jq .) && berth exec web -- ls -la')).toEqual([
      ['get', 'nodes', '-o', 'json'],
      ['exec', 'web'],
    ]);
    expect(await unknownIn(['gett', 'nodes'])).toEqual(['gett']);
    expect(await unknownIn(['node', 'lost'])).toEqual(['lost']);
    expect(await unknownIn(['get', 'nodes', '--nowhere', '-o', 'json'])).toEqual(['--nowhere']);
    expect(await unknownIn(['exec', '-it', 'web'])).toEqual([]);
  });
});
