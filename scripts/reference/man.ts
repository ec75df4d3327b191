import { helpText as agentHelp } from '../../src/agent/flags.ts';
import type { CommandBody } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { commandHelp, overview } from '../../src/cli/help.ts';
import { CONFIG_KEYS, type ConfigKey } from '../../src/server/config-keys.ts';
import { variableOf } from '../../src/server/config-values.ts';
import { helpText as serverHelp } from '../../src/server/help.ts';
import { RECOVERY_COMMANDS, recoveryHelp } from '../../src/server/recovery/commands.ts';
import { type ManPage, roff } from './roff.ts';

/** A command and those below it, each with the page that its `--help` prints. */
function commandPages(words: readonly string[], summary: string, body: CommandBody): readonly ManPage[] {
  const subcommands = body.subcommands ?? [];
  const name = words.join('-');
  const text = commandHelp(words.join(' '), summary, body);
  return [
    { name, section: 1, summary, text },
    ...subcommands.flatMap((sub) => commandPages([...words, sub.name], sub.summary, sub)),
  ];
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function configurationText(): string {
  const keys: readonly ConfigKey[] = CONFIG_KEYS;
  const entries = keys.map(({ path, description, default: usual }) => {
    const fallback =
      usual === undefined
        ? ''
        : ` Default: ${(Array.isArray(usual) ? usual.join(', ') : wordOf(usual)) || 'none'}.`;
    return `    ${path}\n        ${description}${fallback} Variable: ${variableOf(path)}.`;
  });
  return `DESCRIPTION
    Settings of the control plane in YAML. A dot in a name stands for a level: store.kind is the key kind below store.
    Variables come before the file, and flags before both. An unknown key ends the start with the nearest known name.

SETTINGS
${entries.join('\n')}

FILES
    /etc/berth/berth.yaml   read by the service berth-server
`;
}

async function pages(): Promise<readonly ManPage[]> {
  const loaded = await Promise.all(COMMANDS.map(async (entry) => ({ ...entry, body: await entry.load() })));
  const commands = loaded
    .flatMap(({ name, summary, body }) => commandPages(['berth', name], summary, body))
    // Of the program with this name the command line has a part only.
    .filter(({ name }) => name !== 'berth-server');
  const recovery = Object.entries(RECOVERY_COMMANDS).map(([name, command]) => ({
    name: `berth-server-${name}`,
    section: 8,
    summary: command.about,
    text: recoveryHelp(command),
  }));
  return [
    {
      name: 'berth',
      section: 1,
      summary: 'deploys containers on your own machines, for many tenants',
      text: overview(COMMANDS),
    },
    ...commands,
    { name: 'berth-server', section: 8, summary: 'runs the control plane', text: serverHelp() },
    ...recovery,
    {
      name: 'berth-agent',
      section: 8,
      summary: 'runs the deployments of a tenant on this machine',
      text: agentHelp(),
    },
    { name: 'berth.yaml', section: 5, summary: 'settings of the control plane', text: configurationText() },
  ];
}

/** Every manual page by its file's name, made from the texts that the programs print themselves. */
export async function manPages(version: string): Promise<ReadonlyMap<string, string>> {
  const all = await pages();
  return new Map(all.map((page) => [`${page.name}.${page.section}`, roff(page, version, all)]));
}
