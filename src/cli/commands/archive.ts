import { fieldDifferences } from '../../core/contract/diff.ts';
import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { diffLines } from '../plan-view.ts';
import { listVersions, versions } from '../versions.ts';
import { wholeNumber } from './run.ts';

const NAME = {
  term: '<name>',
  description: 'The deployment; also one that was deleted.',
  names: 'deployments',
} as const;

export const archive: CommandBody = {
  description: [
    'The control plane keeps the last 100 versions of the configuration of every deployment, also after its deletion. Secrets are in it as references only.',
  ],
  examples: [
    { line: 'berth archive list web', what: 'every kept version' },
    { line: 'berth archive diff web 3 5', what: 'what changed from version 3 to version 5' },
  ],
  subcommands: [
    {
      name: 'list',
      summary: 'List the versions of a deployment',
      aliases: ['ls'],
      description: [
        'Lists the kept versions, oldest first. -o yaml prints them with their whole configuration.',
      ],
      parameters: [NAME],
      options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
      examples: [{ line: 'berth archive list web -o yaml', what: 'versions with their configuration' }],
      run: listVersions,
    },
    {
      name: 'diff',
      summary: 'Compare two versions',
      description: ['Prints every field that differs between two kept versions.'],
      parameters: [
        NAME,
        { term: '<v1>', description: 'The earlier version.' },
        { term: '<v2>', description: 'The later version.' },
      ],
      options: REMOTE_OPTIONS,
      examples: [{ line: 'berth archive diff web 3 5', what: 'from version 3 to version 5' }],
      run: async (session, { parameters: [name = '', first = '', second = ''], options }) => {
        const wanted = [wholeNumber('version', first), wholeNumber('version', second)];
        const found = await versions(session.client(options), name);
        const [before, after] = wanted.map((version) => {
          const entry = found.find((one) => one.version === version);
          if (entry !== undefined) return entry.spec ?? {};
          throw usage(`version ${version} of ${name} is not kept`, [
            `kept: ${found.map((one) => one.version).join(', ')}`,
          ]);
        });
        const differences = fieldDifferences(before, after).map((difference) => ({ ...difference }));
        if (differences.length === 0) session.terminal.out('no difference\n');
        for (const line of diffLines(differences, session.terminal.style)) session.terminal.out(`${line}\n`);
        return EXIT.ok;
      },
    },
  ],
};
