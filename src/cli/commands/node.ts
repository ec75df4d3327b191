import { named } from '../client.ts';
import {
  type CommandBody,
  OUTPUT_OPTION,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
} from '../command.ts';
import { confirmDeletion, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { listCommand } from '../record-commands.ts';
import { outputFormat, printWhole } from '../output.ts';
import { describeNode } from './describe-node.ts';
import { addCommand } from './node-add.ts';
import { cleanCommand } from './node-clean.ts';
import { drainCommand } from './node-drain.ts';
import { logsCommand } from './node-logs.ts';

const NAME: Parameter = { term: '<name>', description: 'The node.', names: 'nodes' };

function modeCommand(
  name: 'cordon' | 'uncordon',
  summary: string,
  description: string,
  done: string,
): Subcommand {
  return {
    name,
    summary,
    description: [description],
    parameters: [NAME],
    options: REMOTE_OPTIONS,
    examples: [{ line: `berth node ${name} berlin-1`, what: summary.toLowerCase() }],
    run: async (session, { parameters: [node = ''], options }) => {
      await session.client(options).record(`POST /api/v1/nodes/{name}/${name}`, named(node));
      session.terminal.out(`node/${node} ${done}\n`);
      return EXIT.ok;
    },
  };
}

const tokenCommand: Subcommand = {
  name: 'token',
  summary: 'Make a join token and print the line to paste on a machine',
  description: [
    'Makes a token that enrols one machine, once, within 15 minutes, and prints the line to run there. The line carries everything: address, token and, with TLS, the digest of the certificate.',
    'A token with --name enrols that name only, and may also replace a lost machine of that name.',
  ],
  options: [
    {
      flags: '--name <node>',
      description: 'The only name it may enrol. Default: the host name of the machine it is used on.',
    },
    { flags: '--ttl <duration>', description: 'How long it is good for. Default: 15m, at most 24h.' },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth node token --tenant acme --name berlin-1',
      what: 'then paste the printed line on berlin-1',
    },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const nodeName = options.text('name');
    const ttl = options.text('ttl');
    const made = await session.client(options).record('POST /api/v1/join-tokens', {
      body: { ...(nodeName === undefined ? {} : { nodeName }), ...(ttl === undefined ? {} : { ttl }) },
    });
    if (await printWhole(session.terminal, format, made)) return EXIT.ok;
    session.terminal.err(`Paste on the machine, before ${textOf(made.expiresAt)}; it works once:\n`);
    session.terminal.out(`${textOf(made.command)}\n`);
    if (/--server https?:\/\/(?:127\.|localhost|\[::1\])/.test(textOf(made.command))) {
      session.terminal.err(
        'Its address is reached from the machine of the control plane only; for others, see --listen and --base-url of berth server.\n',
      );
    }
    session.terminal.err(`${session.next('berth get nodes --watch')}\n`);
    return EXIT.ok;
  },
};

const showCommand: Subcommand = {
  name: 'show',
  summary: 'Show a node with everything around it',
  description: [
    "Shows what the node offers, what runs on it and how it stands in the tenant's network: its subnet, and the way to each other node (direct, relayed by the control plane, or none and why) with round trip and bytes; the same as berth describe node NAME.",
  ],
  parameters: [NAME],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth node show berlin-1', what: 'which other nodes does it reach, and how?' }],
  run: async (session, { parameters: [name = ''], options }) =>
    describeNode(session, session.client(options), name, outputFormat(options)),
};

const rotateKeyCommand: Subcommand = {
  name: 'rotate-key',
  summary: "Take another key for the tenant's network",
  description: [
    "The node makes another key for the tenant's network, tells the others of it and uses it a moment later; connections stay. Keys also change by themselves, with the node's credential.",
  ],
  parameters: [NAME],
  options: REMOTE_OPTIONS,
  examples: [{ line: 'berth node rotate-key berlin-1', what: 'its key may have been seen by somebody' }],
  run: async (session, { parameters: [name = ''], options }) => {
    await session.client(options).record('POST /api/v1/nodes/{name}/rotate-key', named(name));
    session.terminal.out(`node/${name} takes another key for the network\n`);
    session.terminal.err(`${session.next(`berth node show ${name}`)}\n`);
    return EXIT.ok;
  },
};

const deleteCommand: Subcommand = {
  name: 'delete',
  summary: 'Forget a node',
  aliases: ['remove'],
  description: [
    'Removes a node from the tenant and ends the session of its agent. Refused while it holds instances or the only copy of a volume; --force is for a machine that is gone for good.',
  ],
  parameters: [NAME],
  options: [
    { flags: '--force', description: 'Although it still holds something: the machine will not come back.' },
    YES_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [{ line: 'berth node delete berlin-1', what: 'after draining it' }],
  run: async (session, { parameters: [name = ''], options }) => {
    const client = session.client(options);
    await confirmDeletion(session, `node/${name}`, options);
    await client.record('DELETE /api/v1/nodes/{name}', {
      ...named(name),
      query: { force: options.flag('force') || undefined },
    });
    session.terminal.out(`node/${name} deleted\n`);
    return EXIT.ok;
  },
};

export const node: CommandBody = {
  description: [
    "A node is a machine with a container engine and an agent. It belongs to one tenant, and only that tenant's deployments run on it.",
  ],
  examples: [
    { line: 'berth node add root@192.0.2.7', what: 'make a machine a node, over SSH' },
    { line: 'berth node token', what: 'the line that enrols a machine' },
    { line: 'berth node list', what: 'the nodes of the tenant' },
  ],
  subcommands: [
    addCommand,
    tokenCommand,
    listCommand('nodes', {
      summary: 'List nodes',
      description: ['Lists the nodes of the tenant; the same as berth get nodes.'],
      examples: [{ line: 'berth node list -o wide', what: 'with labels and versions' }],
    }),
    showCommand,
    modeCommand(
      'cordon',
      'Take no new instances',
      'Keeps new instances away from the node. What runs there stays.',
      'takes no new instances',
    ),
    modeCommand('uncordon', 'Take instances again', 'Ends a cordon or a drain.', 'takes instances again'),
    drainCommand,
    cleanCommand,
    logsCommand,
    rotateKeyCommand,
    deleteCommand,
  ],
};
