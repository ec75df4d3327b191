import { describe, expect, it } from 'vitest';
import { type CommandBody, type Input, REMOTE_OPTIONS } from './command.ts';
import { COMMANDS } from './commands/index.ts';
import { EXIT } from './exit-code.ts';
import type { Failure } from './failure.ts';
import { runProgram } from './program.ts';
import { makeSession } from './session.ts';
import { makeStyle } from './style.ts';
import type { Terminal } from './terminal.ts';

function session() {
  const written: string[] = [];
  const terminal: Terminal = {
    style: makeStyle(false),
    errStyle: makeStyle(false),
    live: false,
    errLive: false,
    interactive: false,
    columns: 100,
    out: (text) => void written.push(text),
    err: (text) => void written.push(text),
    clearScreen: () => undefined,
    draw: () => undefined,
    errSize: { columns: 100, rows: 24 },
    readInput: async () => '',
    ask: async () => '',
    askHidden: async () => '',
  };
  return {
    session: makeSession(terminal, { HOME: '/nonexistent' }, new AbortController().signal, '1.2.3'),
    written,
  };
}

async function failure(...argv: readonly string[]): Promise<Failure> {
  return runProgram(COMMANDS, argv, session().session).then(
    () => {
      throw new Error('did not fail');
    },
    (error: unknown) => error as Failure,
  );
}

describe('the program', () => {
  it.each([
    [['gte'], 'did you mean berth get?'],
    [['ls'], 'did you mean berth get?'],
    [['frobnicate'], 'unknown command frobnicate'],
    [['--output', 'json'], 'flags come after the command'],
    [['get'], "missing required argument 'kind'"],
    [['get', 'deployments', '--wach'], '--watch'],
    [['get', 'deployments', '-o', 'jsn'], 'did you mean json?'],
    [['get', 'deployments', '-o', 'jsonpath=[*].a['], '-o jsonpath, character 7: expected a number'],
    [['describe', 'node', 'n', '-o', 'template={{.a'], 'expected }} to close the placeholder'],
    [['get', 'a', 'b', 'c'], 'too many arguments'],
    [['node', 'dran'], 'did you mean berth node drain?'],
    [['node'], 'berth node needs a command'],
    [['scale', 'web', 'many'], 'expected a whole number'],
    [['apply'], '-f is needed'],
    [['completion', 'tcsh'], 'unknown shell tcsh'],
    [['explain', 'image_not_fond'], 'there is no code image_not_fond'],
    [['up', '--engine', '/x', '--own-engine'], 'exclude each other'],
    [['secret', 'write', 'db', '--generate', 'a'], 'not the path of a secret'],
    [['run', '--env', 'CITY=Z\uFFFDrich'], 'argument 3 is not UTF-8 text'],
  ])('refuses %j with usage, and says %s', async (argv, message) => {
    const error = await failure(...argv);
    expect(error.message).toContain(message);
    expect(error.exitCode).toBe(EXIT.usage);
  });

  it.each(COMMANDS.map(({ name }) => name))('%s has a page with a synopsis and examples', async (name) => {
    const { session: opened, written } = session();
    expect(await runProgram(COMMANDS, [name, '--help'], opened)).toBe(EXIT.ok);
    const page = written.join('');
    expect(page).toMatch(/^NAME\n {4}berth /);
    for (const title of ['SYNOPSIS', 'DESCRIPTION', 'EXIT STATUS', 'EXAMPLES'])
      expect(page).toContain(`${title}\n`);
    for (const line of page.split('\n')) expect(line.length).toBeLessThanOrEqual(112);
  });

  it('gives a command its parameters, flags and the words after --', async () => {
    let seen: Input | undefined;
    const body: CommandBody = {
      description: [],
      examples: [],
      parameters: [{ term: '<name>', description: '' }],
      options: [{ flags: '--env <pair>', description: '', repeatable: true }],
      passThrough: true,
      run: async (_session, input) => {
        seen = input;
        return 7;
      },
    };
    const entry = { name: 'try', summary: '', group: '', load: async () => body };
    expect(
      await runProgram(
        [entry],
        ['try', '--env', 'a=1', '--env', 'b=2', 'web', '--', 'ls', '-l'],
        session().session,
      ),
    ).toBe(7);
    expect(seen?.parameters).toEqual(['web', '--', 'ls', '-l']);
    expect(seen?.options.list('env')).toEqual(['a=1', 'b=2']);
    // Flags between the name and the command are ours too; those of the command are not.
    await runProgram([entry], ['try', 'web', '--env', 'a=1', '--', 'ls', '--env', 'x'], session().session);
    expect(seen?.parameters).toEqual(['web', '--', 'ls', '--env', 'x']);
    expect(seen?.options.list('env')).toEqual(['a=1']);
    await runProgram([entry], ['try', 'web', '--env=a=1', 'ls', '--env', 'x', '--', 'y'], session().session);
    expect(seen?.parameters).toEqual(['web', 'ls', '--env', 'x', '--', 'y']);
    expect(seen?.options.list('env')).toEqual(['a=1']);
    await expect(
      runProgram([entry], ['try', 'web', '--evn', 'a=1', 'ls'], session().session),
    ).rejects.toThrow("unknown option '--evn'");
  });

  it('prints commands to go on with that act where this one acted', async () => {
    const body: CommandBody = {
      description: [],
      examples: [],
      options: REMOTE_OPTIONS,
      run: async ({ terminal, next }) => {
        terminal.err(next('berth explain web · berth get nodes'));
        return EXIT.ok;
      },
    };
    const entry = { name: 'try', summary: '', group: '', load: async () => body };
    const { session: opened, written } = session();
    await runProgram([entry], ['try'], opened);
    await runProgram([entry], ['try', '--tenant', 'acme', '--context', 'far'], opened);
    expect(written).toEqual([
      'next: berth explain web · berth get nodes',
      'next: berth explain web --context far --tenant acme · berth get nodes --context far --tenant acme',
    ]);
  });

  it('prints a completion script for each shell, which asks this program for the words', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { session: opened, written } = session();
      await runProgram(COMMANDS, ['completion', shell], opened);
      expect(written.join('')).toContain('command berth __complete -- ');
    }
  });

  it('names each command and program once on its first page', async () => {
    const { session: opened, written } = session();
    await runProgram(COMMANDS, ['--help'], opened);
    const [page = ''] = written.join('').split('\nVariables\n');
    const words = [...page.matchAll(/^ {4}([a-z-]+) /gm)].map(([, word]) => word);
    expect(words.toSorted()).toEqual([...COMMANDS.map(({ name }) => name), 'agent'].toSorted());
  });
});
