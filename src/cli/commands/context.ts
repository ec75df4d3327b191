import type { CommandBody } from '../command.ts';
import { readContexts, unknownContext, withoutContext, writeContexts } from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { tableText } from '../table.ts';

export const context: CommandBody = {
  description: [
    'A context is a control plane with a token, remembered under a name by berth login or berth up. The current one is used unless --context or BERTH_CLI_SERVER says otherwise. Tokens are never printed.',
  ],
  examples: [
    { line: 'berth context list', what: 'what is remembered; the current one is marked' },
    { line: 'berth context use staging', what: 'make another one the current one' },
  ],
  subcommands: [
    {
      name: 'list',
      summary: 'List contexts',
      aliases: ['ls'],
      description: [
        'Lists the remembered control planes; the current one is marked with *. Tokens are not shown.',
      ],
      examples: [{ line: 'berth context list', what: 'every context' }],
      run: async ({ terminal, environment }) => {
        const file = readContexts(environment);
        const rows = Object.entries(file.contexts).map(([name, { server, tenant }]) => [
          name === file.current ? '*' : '',
          name,
          server,
          tenant ?? '',
        ]);
        if (rows.length === 0) terminal.err('no contexts yet; next: berth login --server URL\n');
        else terminal.out(tableText(['', 'NAME', 'SERVER', 'TENANT'], rows, terminal.style, undefined));
        return EXIT.ok;
      },
    },
    {
      name: 'use',
      summary: 'Make a context the current one',
      description: ['Makes a remembered control plane the one that commands talk to.'],
      parameters: [{ term: '<name>', description: 'As listed by berth context list.', names: 'contexts' }],
      examples: [{ line: 'berth context use staging', what: 'talk to staging from now on' }],
      run: async ({ terminal, environment }, { parameters: [name = ''] }) => {
        const file = readContexts(environment);
        const chosen = file.contexts[name];
        if (chosen === undefined) throw unknownContext(file, name);
        writeContexts(environment, { ...file, current: name });
        terminal.out(`${name} is now the current context (${chosen.server})\n`);
        return EXIT.ok;
      },
    },
    {
      name: 'remove',
      summary: 'Forget a context',
      aliases: ['rm'],
      description: [
        'Forgets a control plane and its token. The token itself stays good until it expires or is revoked: berth token revoke.',
      ],
      parameters: [{ term: '<name>', description: 'As listed by berth context list.', names: 'contexts' }],
      examples: [{ line: 'berth context remove staging', what: 'forget staging' }],
      run: async ({ terminal, environment }, { parameters: [name = ''] }) => {
        const file = readContexts(environment);
        if (file.contexts[name] === undefined) throw unknownContext(file, name);
        const left = withoutContext(file, name);
        writeContexts(environment, left);
        terminal.out(
          `${name} is forgotten${left.current === undefined ? '; no context is current now' : ''}\n`,
        );
        return EXIT.ok;
      },
    },
  ],
};
