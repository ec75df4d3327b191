import { named } from '../client.ts';
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
import { deleteCommand, getCommand, listCommand, printMade } from '../record-commands.ts';
import { outputFormat } from '../output.ts';
import { showNetwork } from './network-show.ts';

const NAME: Parameter = { term: '<name>', description: 'The network.', names: 'networks' };

function labelsOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usage(`--label ${pair} is not key=value`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

const create: Subcommand = {
  name: 'create',
  summary: 'Create a network on one node',
  description: [
    'Creates a network on one node. With more than one node available, --node says on which. Other options than these do not exist: the node agent knows name, driver, labels and internal only.',
  ],
  parameters: [{ term: '<name>', description: 'Unique in the tenant.' }],
  options: [
    {
      flags: '--node <name>',
      description: 'The node. Default: the only one that is available.',
      names: 'nodes',
    },
    { flags: '--internal', description: 'Without a route out.' },
    { flags: '--label <key=value>', description: 'Written onto it. May be repeated.', repeatable: true },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [{ line: 'berth network create backend --node berlin-1 --internal', what: 'no way out' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const nodeId = options.text('node');
    const labels = labelsOf(options.list('label'));
    const made = await session.client(options).record('POST /api/v1/networks', {
      body: {
        name,
        ...(nodeId === undefined ? {} : { nodeId }),
        ...(options.flag('internal') ? { internal: true } : {}),
        ...(Object.keys(labels).length === 0 ? {} : { labels }),
      },
    });
    const line = `network/${name} created on ${textOf(made.nodeId)}`;
    await printMade(session, 'networks', made, format, { line, next: `berth network get ${name}` });
    return EXIT.ok;
  },
};

const remove = deleteCommand({
  kind: 'network',
  parameter: NAME,
  remove: (client, name) => client.record('DELETE /api/v1/networks/{name}', named(name)),
  summary: 'Delete a network',
  description: ['Deletes a network. Refused while containers are attached to it.'],
  examples: [{ line: 'berth network delete backend', what: 'when nothing uses it any more' }],
});

export const network: CommandBody = {
  description: [
    'The nodes of a tenant are one network, on which its deployments reach one another by name; show prints it. The other commands are about named networks, each on one node.',
  ],
  examples: [
    { line: 'berth network show', what: 'nodes, the ways between them, addresses' },
    { line: 'berth network create backend', what: 'on the only node' },
    { line: 'berth network list', what: 'the networks of the tenant' },
  ],
  subcommands: [
    showNetwork,
    create,
    listCommand('networks', {
      summary: 'List networks',
      description: ['Lists the networks of the tenant; the same as berth get networks.'],
      examples: [{ line: 'berth network list', what: 'with their nodes and states' }],
    }),
    getCommand('networks', NAME, {
      summary: 'Print one network',
      description: ['Prints one network; the same as berth get network NAME.'],
      examples: [{ line: 'berth network get backend -o yaml', what: 'every field of it' }],
    }),
    remove,
  ],
};
