import { textsIn } from '../core/model/values.ts';
import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { nearest } from '../core/schema/nearest.ts';
import type { CommandBody, CommandEntry, Input, Option } from './command.ts';
import { COMPLETE } from './completion/protocol.ts';
import { OptionValues } from './option-values.ts';
import { EXIT } from './exit-code.ts';
import { usage } from './failure.ts';
import { commandHelp, overview } from './help.ts';
import { requireDecoded } from './input-text.ts';
import { type Session, sessionFor } from './session.ts';

const RENAMED: Readonly<Record<string, string>> = {
  ls: 'get',
  list: 'get',
  ps: 'get',
  create: 'apply',
  deploy: 'apply',
  rm: 'delete',
  remove: 'delete',
  inspect: 'describe',
  show: 'describe',
  status: 'rollout',
  rollback: 'rollout',
  log: 'logs',
  ssh: 'exec',
  nodes: 'node',
  secrets: 'secret',
  tenants: 'tenant',
  tokens: 'token',
  start: 'up',
  init: 'up',
  quickstart: 'up',
};

/** Parses argv, finds the command, runs it. Only the named command is loaded. */
export async function runProgram(
  commands: readonly CommandEntry[],
  argv: readonly string[],
  session: Session,
): Promise<number> {
  const [first, ...rest] = argv;
  for (const [index, word] of argv.entries()) requireDecoded(word, `argument ${index + 1}`);
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    return help(commands, first === 'help' ? rest : [], session);
  }
  if (first === COMPLETE)
    return (await import('./completion/answer.ts')).answerCompletion(commands, rest, session);
  if (first === '--version' || first === '-V') return runProgram(commands, ['version', ...rest], session);
  const entry = commands.find((command) => command.name === first);
  if (entry === undefined) throw unknownCommand(commands, first);
  return runCommand(entry, await entry.load(), rest, session);
}

async function help(
  commands: readonly CommandEntry[],
  path: readonly string[],
  session: Session,
): Promise<number> {
  const [first, ...rest] = path;
  if (first === undefined) {
    session.terminal.out(overview(commands));
    return EXIT.ok;
  }
  return runProgram(commands, [first, ...rest, '--help'], session);
}

function unknownCommand(commands: readonly CommandEntry[], word: string): Error {
  const names = commands.map((command) => command.name);
  if (word.startsWith('-'))
    return usage(`flags come after the command: berth <command> ${word}`, [
      'berth --help lists the commands',
    ]);
  const near = nearest(word, [...names, 'server', 'agent']) ?? RENAMED[word];
  return usage(`unknown command ${word}${near === undefined ? '' : `; did you mean berth ${near}?`}`, [
    'berth --help lists the commands',
  ]);
}

async function runCommand(
  entry: CommandEntry,
  body: CommandBody,
  argv: readonly string[],
  session: Session,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const command = build(`berth ${entry.name}`, entry.name, entry.summary, body, session, (code) => {
    exitCode = code;
  });
  try {
    const words = body.passThrough === true ? ownFlagsFirst(body, argv) : argv;
    await command.parseAsync([...words], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    throw usage(complaint(error.message), [
      `berth ${[entry.name, ...namedBelow(body, argv)].join(' ')} --help`,
    ]);
  }
  return exitCode;
}

/**
 * `exec web --tenant acme -- ls`: no program begins with a dash, so what follows the name is a flag of this program. Taken for a
 * part of the foreign command, it would run in the web of another tenant.
 */
function ownFlagsFirst(body: CommandBody, argv: readonly string[]): readonly string[] {
  const flags: string[] = [];
  const rest = [...argv];
  const names: string[] = [];
  for (;;) {
    const [word] = rest;
    if (word === undefined || word === '--') break;
    if (word.startsWith('-')) {
      const option = (body.options ?? []).find(({ flags: spelt }) => spelt.split(/[ ,]+/).includes(word));
      flags.push(...rest.splice(0, option?.flags.includes('<') === true ? 2 : 1));
    } else if (names.length < (body.parameters ?? []).length) names.push(...rest.splice(0, 1));
    else break;
  }
  return [...flags, ...names, ...rest];
}

/** The subcommand that was meant, for the page that tells how it is used. */
function namedBelow(body: CommandBody, [word]: readonly string[]): readonly string[] {
  const sub = body.subcommands?.find(
    ({ name, aliases = [] }) => name === word || aliases.includes(word ?? ''),
  );
  return sub === undefined ? [] : [sub.name];
}

/** Commander's message, without its prefix, on one line. */
function complaint(message: string): string {
  const lines = message.replace(/^error: /, '').split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
}

function build(
  path: string,
  name: string,
  summary: string,
  body: CommandBody,
  session: Session,
  finish: (code: number) => void,
): Command {
  const command = new Command(name)
    .exitOverride()
    .showSuggestionAfterError(true)
    .helpOption('-h, --help')
    .helpCommand(false)
    .configureOutput({ writeErr: () => undefined, writeOut: (text) => session.terminal.out(text) })
    .configureHelp({ formatHelp: () => commandHelp(path, summary, body) });
  for (const { term, description } of body.parameters ?? []) command.argument(term, description);
  for (const option of body.options ?? []) command.addOption(parserOption(option));
  if (body.passThrough === true) command.argument('[command...]').passThroughOptions();
  for (const sub of body.subcommands ?? []) {
    const nested = build(`${path} ${sub.name}`, sub.name, sub.summary, sub, session, finish);
    command.addCommand(nested.aliases([...(sub.aliases ?? [])]));
  }
  const { run } = body;
  if (run !== undefined) {
    command.action(async () => {
      const given = input(command);
      finish(await run(sessionFor(session, given.options), given));
    });
  } else {
    command.action(() => {
      throw missingSubcommand(path, body, command.args[0]);
    });
    command.allowExcessArguments(true);
  }
  return command;
}

function missingSubcommand(path: string, body: CommandBody, word: string | undefined): Error {
  const names = (body.subcommands ?? []).map((sub) => sub.name);
  const near = word === undefined ? undefined : nearest(word, names);
  const what = word === undefined ? `${path} needs a command` : `${path} has no command ${word}`;
  return usage(`${what}${near === undefined ? '' : `; did you mean ${path} ${near}?`}`, [
    `one of: ${names.join(', ')}`,
    `${path} --help`,
  ]);
}

function parserOption(option: Option): CommanderOption {
  const parser = new CommanderOption(option.flags, option.description);
  if (option.default !== undefined) parser.default(option.default);
  // The format of the output is checked by the command, which names the nearest.
  if (option.repeatable === true) {
    parser.argParser((value: string, before: unknown) => [...textsIn(before), value]);
  }
  return parser;
}

function input(command: Command): Input {
  const parameters = command.processedArgs.flatMap((value: unknown) =>
    typeof value === 'string' ? [value] : textsIn(value),
  );
  return { parameters, options: new OptionValues(command.opts()) };
}
