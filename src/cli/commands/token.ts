import { ROLES } from '../../core/model/tenant.ts';
import { unjudged } from '../../sdk/index.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { confirmRevocation, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { outputFormat, printWhole } from '../output.ts';
import { listCommand } from '../record-commands.ts';

const ASSIGNABLE = ROLES.filter((role) => role !== 'node');

export const token: CommandBody = {
  description: [
    'A token is what people and programs show to the control plane. It belongs to one tenant, has one role, and expires. It is shown once, when it is made.',
  ],
  examples: [
    { line: 'berth token create --name ci --role deployer', what: 'a token for a pipeline' },
    { line: 'berth token revoke token01jd…', what: 'end it at once; open connections are cut' },
  ],
  subcommands: [
    listCommand('tokens', {
      summary: 'List tokens, never their secrets',
      description: ['Lists the tokens of the tenant with role and expiry.'],
      examples: [
        { line: 'berth token list --tenant acme', what: "another tenant's, as platform administrator" },
      ],
    }),
    {
      name: 'create',
      summary: 'Create a token',
      description: [
        'Creates a token and prints it. The token alone goes to standard output, so that it can be piped; it cannot be shown again.',
      ],
      options: [
        { flags: '--name <text>', description: 'What it is for.' },
        { flags: '--role <role>', description: `One of: ${ASSIGNABLE.join(', ')}.`, values: ASSIGNABLE },
        {
          flags: '--ttl <duration>',
          description: 'How long it is good for, e.g. 720h. Default: 90 days, at most 366.',
        },
        OUTPUT_OPTION,
        ...REMOTE_OPTIONS,
      ],
      examples: [
        {
          line: 'berth token create --name ci --role deployer --ttl 720h > ci-token',
          what: 'for a pipeline, for 30 days',
        },
      ],
      run: async (session, { options }) => {
        const format = outputFormat(options);
        const name = options.text('name');
        const role = options.text('role');
        if (name === undefined || role === undefined)
          throw usage('--name and --role are needed', [`roles: ${ASSIGNABLE.join(', ')}`]);
        const ttl = options.text('ttl');
        const made = await session.client(options).record('POST /api/v1/tokens', {
          body: unjudged({ name, role, ...(ttl === undefined ? {} : { ttl }) }),
        });
        if (await printWhole(session.terminal, format, made)) return EXIT.ok;
        session.terminal.err(
          `token ${textOf(made.id)} (${role}), good until ${textOf(made.expiresAt)}; it is shown only now:\n`,
        );
        session.terminal.out(`${textOf(made.token)}\n`);
        return EXIT.ok;
      },
    },
    {
      name: 'revoke',
      summary: 'End a token at once',
      description: ['Revokes a token by its id. Connections that use it are cut within a second.'],
      parameters: [{ term: '<id>', description: 'As listed by berth token list.', names: 'tokens' }],
      options: [YES_OPTION, ...REMOTE_OPTIONS],
      examples: [{ line: 'berth token revoke token01jd…', what: 'when it leaked, or is no longer needed' }],
      run: async (session, { parameters: [id = ''], options }) => {
        if (id.startsWith('berth_'))
          throw usage('this is a token, not the id of one', [
            'berth token list shows ids; take this one as leaked',
          ]);
        const client = session.client(options);
        await confirmRevocation(session, `token/${id}`, options);
        await client.record('DELETE /api/v1/tokens/{id}', { params: { id } });
        session.terminal.out(`token/${id} revoked\n`);
        return EXIT.ok;
      },
    },
  ],
};
