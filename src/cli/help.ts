import type { CommandBody, CommandEntry, Option } from './command.ts';
import { EXIT_MEANINGS } from './exit-code.ts';

const WIDTH = 80;
const INDENT = '    ';

/** Lines of at most 80 columns, so that a page reads the same in a terminal, a pager and the reference. */
export function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length + word.length > WIDTH && line.trim() !== '') {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}

function section(title: string, text: string): string {
  return text === '' ? '' : `${title}\n${text}\n\n`;
}

function term(head: string, description: string): string {
  return `${INDENT}${head}\n${wrapped(description, `${INDENT}    `)}`;
}

function optionText(option: Option): string {
  const fallback = option.default === undefined ? '' : ` Default: ${option.default}.`;
  return term(option.flags, `${option.description}${fallback}`);
}

function synopsis(path: string, body: CommandBody): string {
  const parameters = (body.parameters ?? []).map((parameter) => parameter.term);
  const own =
    body.run === undefined
      ? []
      : [
          [
            path,
            ...((body.options ?? []).length > 0 ? ['[flags]'] : []),
            ...parameters,
            ...(body.passThrough === true ? ['-- <command...>'] : []),
          ].join(' '),
        ];
  const nested = (body.subcommands ?? []).map((sub) =>
    [`${path} ${sub.name}`, ...(sub.parameters ?? []).map((parameter) => parameter.term)].join(' '),
  );
  return [...own, ...nested].map((line) => `${INDENT}${line}`).join('\n');
}

const HELP_OPTION: Option = { flags: '-h, --help', description: 'Print this page.' };

/** One command as a page: name, synopsis, description, flags, exit status, examples. */
export function commandHelp(path: string, summary: string, body: CommandBody): string {
  const examples = body.examples.map(({ line, what }) => `${INDENT}# ${what}\n${INDENT}${line}`).join('\n\n');
  return (
    section('NAME', `${INDENT}${path} - ${summary.charAt(0).toLowerCase()}${summary.slice(1)}`) +
    section('SYNOPSIS', synopsis(path, body)) +
    section('DESCRIPTION', body.description.map((paragraph) => wrapped(paragraph, INDENT)).join('\n\n')) +
    section('COMMANDS', (body.subcommands ?? []).map((sub) => term(sub.name, sub.summary)).join('\n')) +
    section(
      'ARGUMENTS',
      (body.parameters ?? []).map((parameter) => term(parameter.term, parameter.description)).join('\n'),
    ) +
    section('FLAGS', [...(body.options ?? []), HELP_OPTION].map(optionText).join('\n')) +
    (body.notes ?? [])
      .map((note) => section(note.title, note.lines.map((line) => `${INDENT}${line}`.trimEnd()).join('\n')))
      .join('') +
    section('EXIT STATUS', exitStatusText()) +
    section('EXAMPLES', examples)
  )
    .trimEnd()
    .concat('\n');
}

export function exitStatusText(): string {
  return EXIT_MEANINGS.map(([code, meaning]) => `${INDENT}${String(code).padEnd(5)}${meaning}`).join('\n');
}

/** The page of `berth` itself: every command by what it is for. */
export function overview(commands: readonly CommandEntry[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2;
  const groups = [...new Set(commands.map((command) => command.group))];
  const lists = groups.map((group) => {
    const rows = commands
      .filter((command) => command.group === group)
      .map((command) => `${INDENT}${command.name.padEnd(width)}${command.summary}`);
    return `${group}\n${rows.join('\n')}`;
  });
  return `berth - deploys containers on your own machines, for many tenants

Usage: berth <command> [arguments] [flags]

${lists.join('\n\n')}
${INDENT}${'agent'.padEnd(width)}Run a node's agent (berth agent --help)

Variables
${INDENT}BERTH_CLI_SERVER, BERTH_CLI_TOKEN, BERTH_CLI_TENANT stand in for a context.
${INDENT}NO_COLOR turns colours and links off, FORCE_HYPERLINK=0 links alone.

Exit status
${exitStatusText()}

First steps
${INDENT}berth up --quickstart        a control plane, a node and a sample on this machine
${INDENT}berth login --server URL     a control plane that runs elsewhere
${INDENT}berth <command> --help       a page about a command, with examples
`;
}
