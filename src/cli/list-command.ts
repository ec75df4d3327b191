import { OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from './command.ts';
import { EXIT } from './exit-code.ts';
import { outputFormat, printList } from './output.ts';
import { resourceOf } from './resources.ts';

/** `list` of a kind that `get` lists too. */
export function listCommand(
  kind: string,
  words: Pick<Subcommand, 'summary' | 'description' | 'examples'>,
): Subcommand {
  return {
    name: 'list',
    aliases: ['ls'],
    ...words,
    options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
    run: async (session, { options }) => {
      const format = outputFormat(options);
      const resource = resourceOf(kind);
      const found = await resource.list(session.client(options), {});
      if (found.length === 0 && (format === 'table' || format === 'wide'))
        session.terminal.err(`${resource.nothing}\n`);
      else await printList(session.terminal, resource, found, format, session.now());
      return EXIT.ok;
    },
  };
}
