import type { CommandBody } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { commandHelp, exitStatusText } from '../../src/cli/help.ts';

/** Commands are loaded one by one when they run; the page needs all of them. */
const BODIES: ReadonlyMap<string, CommandBody> = new Map(
  await Promise.all(COMMANDS.map(async ({ name, load }) => [name, await load()] as const)),
);

function page(path: string, summary: string, body: CommandBody, level: string): string {
  // The same for every command, so it stands once at the top.
  const help = commandHelp(path, summary, body).replace(/EXIT STATUS\n[\s\S]*?\n\n/, '');
  const nested = (body.subcommands ?? []).map((sub) =>
    page(`${path} ${sub.name}`, sub.summary, sub, `${level}#`),
  );
  return `${level} ${path}\n\n\`\`\`\n${help.trimEnd()}\n\`\`\`\n${nested.map((text) => `\n${text}`).join('')}`;
}

/** docs/reference/cli.md, whole: the help page of every command. */
export function cliReference(): string {
  const groups = [...new Set(COMMANDS.map(({ group }) => group))];
  const overview = groups.map((group) => {
    const rows = COMMANDS.filter((command) => command.group === group).map(
      ({ name, summary }) => `| [\`berth ${name}\`](#berth-${name}) | ${summary} |`,
    );
    return `**${group}**\n\n| Command | What it does |\n|---|---|\n${rows.join('\n')}\n`;
  });
  const pages = COMMANDS.map(({ name, summary }) =>
    page(`berth ${name}`, summary, BODIES.get(name) ?? { description: [], examples: [] }, '##'),
  );
  return `# Command line

Generated from the commands; do not edit. Every command with its flags and examples; \`berth <command> --help\` prints the same pages.

${overview.join('\n')}
Every command ends with one of these:

\`\`\`
${exitStatusText()}
\`\`\`

\`berth exec\` ends with the status of the command it ran.

${pages.join('\n')}`;
}
