import { writeFileSync } from 'node:fs';
import { messageOf } from '../../core/model/values.ts';
import { unjudged } from '../../sdk/index.ts';
import {
  type CommandBody,
  OUTPUT_OPTION,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
} from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { inputJson } from '../input-json.ts';
import { deleteCommand, listCommand } from '../record-commands.ts';
import { outputFormat, printRecord, structuredText } from '../output.ts';
import { warningLines } from '../plan-view.ts';
import { resourceOf } from '../resources/index.ts';
import { timeoutOf, waitUntilHealthy } from '../waiting.ts';
import { WAIT_OPTIONS } from './apply.ts';

const ID: Parameter = { term: '<id>', description: 'As listed by berth backup list.', names: 'backups' };

const create: Subcommand = {
  name: 'create',
  summary: 'Copy the configuration of a deployment',
  description: [
    'Keeps a copy of the configuration of a deployment as it is now, with its history. No bytes of volumes are read, and secrets are in it as references only.',
  ],
  parameters: [{ term: '<deployment>', description: 'The deployment.', names: 'deployments' }],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth backup create web', what: 'before a risky change' }],
  run: async (session, { parameters: [deploymentName = ''], options }) => {
    const format = outputFormat(options);
    const made = await session.client(options).record('POST /api/v1/backups', { body: { deploymentName } });
    if (format === 'table') session.terminal.out(`backup/${textOf(made.id)} of ${deploymentName} made\n`);
    else await printRecord(session.terminal, resourceOf('backups'), made, format, session.now());
    return EXIT.ok;
  },
};

const restore: Subcommand = {
  name: 'restore',
  summary: 'Store the configuration of a backup again',
  description: [
    'Creates the deployment of a backup, or replaces it whole, and waits until it is healthy. All rules are re-checked, so an old configuration can be refused.',
  ],
  parameters: [ID],
  options: [...WAIT_OPTIONS, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth backup restore bak_01jd…', what: 'back to what was kept' }],
  run: async (session, { parameters: [id = ''], options }) => {
    const timeoutMs = timeoutOf(options);
    const client = session.client(options);
    const written = await client.record('POST /api/v1/backups/{id}/restore', { params: { id } });
    const name = textOf(written.name);
    session.terminal.out(`deployment/${name} restored from ${id}\n`);
    const removed = written.removed ?? [];
    if (removed.length > 0) session.terminal.err(`it took away: ${removed.join(', ')}\n`);
    for (const line of warningLines(written, session.terminal.errStyle)) session.terminal.err(`${line}\n`);
    if (!options.unlessDenied('wait')) return EXIT.ok;
    return waitUntilHealthy(session, client, { name, specHash: textOf(written.specHash) }, timeoutMs);
  },
};

const exportCommand: Subcommand = {
  name: 'export',
  summary: 'Print a backup as a document for another control plane',
  description: [
    'Prints a self-contained JSON document that berth backup import takes, also on another control plane. It holds no secret values.',
  ],
  parameters: [ID],
  options: [
    {
      flags: '--to <file>',
      description: 'Write it to this file, which must not exist, instead of standard output.',
    },
    ...REMOTE_OPTIONS,
  ],
  examples: [{ line: 'berth backup export bak_01jd… --to web.backup.json', what: 'to carry it elsewhere' }],
  run: async (session, { parameters: [id = ''], options }) => {
    const document = await session
      .client(options)
      .record('GET /api/v1/backups/{id}/export', { params: { id } });
    const text = await structuredText('json', document);
    const file = options.text('to');
    if (file === undefined) session.terminal.out(text);
    else writeNew(file, text);
    return EXIT.ok;
  },
};

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw usage(`--to ${file}: ${messageOf(error)}`);
  }
}

const importCommand: Subcommand = {
  name: 'import',
  summary: 'Store an exported document as a backup of this tenant',
  description: [
    'Reads a document of berth backup export from standard input and stores it as a new backup of the tenant. Nothing is deployed: that is berth backup restore.',
  ],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth backup import --context other < web.backup.json', what: 'into another control plane' },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const client = session.client(options);
    const stored = await client.record('POST /api/v1/backups/import', {
      body: unjudged(
        inputJson(await session.terminal.readInput(), 'standard input', ['berth backup import < FILE']),
      ),
    });
    if (format === 'table') session.terminal.out(`backup/${textOf(stored.id)} imported\n`);
    else await printRecord(session.terminal, resourceOf('backups'), stored, format, session.now());
    session.terminal.err(`${session.next(`berth backup restore ${textOf(stored.id)}`)}\n`);
    return EXIT.ok;
  },
};

export const backup: CommandBody = {
  description: [
    'A backup is a copy of the configuration of a deployment that outlives its archive and can be carried to another control plane. It holds no bytes of volumes and no secret values.',
  ],
  examples: [
    { line: 'berth backup create web', what: 'make one' },
    {
      line: 'berth backup export bak_01jd… | berth backup import --context other',
      what: 'carry it to another control plane',
    },
  ],
  subcommands: [
    create,
    listCommand('backups', {
      summary: 'List backups',
      description: ['Lists the backups of the tenant, oldest first.'],
      examples: [{ line: 'berth backup list', what: 'every backup' }],
    }),
    restore,
    exportCommand,
    importCommand,
    deleteCommand({
      kind: 'backup',
      parameter: ID,
      remove: (client, id) => client.record('DELETE /api/v1/backups/{id}', { params: { id } }),
      summary: 'Delete a backup',
      description: ['Deletes a backup. The deployment and its archive stay.'],
      examples: [{ line: 'berth backup delete bak_01jd…', what: 'when it is no longer needed' }],
    }),
  ],
};
