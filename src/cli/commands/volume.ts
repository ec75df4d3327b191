import { unjudged } from '../../sdk/index.ts';
import type { Client } from '../client.ts';
import {
  type CommandBody,
  OUTPUT_OPTION,
  type Parameter,
  REMOTE_OPTIONS,
  type Subcommand,
} from '../command.ts';
import { confirmDeletion, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { getCommand, listCommand, printFound } from '../record-commands.ts';
import type { OptionValues } from '../option-values.ts';
import { type Listing, outputFormat, printRecord } from '../output.ts';
import { alterationLines, warningLines } from '../plan-view.ts';
import { resourceOf } from '../resources/index.ts';
import { VOLUME_COPIES, VOLUME_SNAPSHOTS } from '../resources/volumes.ts';
import type { Session } from '../session.ts';
import { deleteVolume, findVolume, sizeOf, tenantOf, waitUntilPromoted, waitUntilReady } from '../volumes.ts';
import { timeoutOf } from '../waiting.ts';
import { wholeNumber } from './run.ts';
import { backupJobCommand, drillJobCommand, restoreJobCommand } from './volume-jobs.ts';

const NAME: Parameter = { term: '<name>', description: 'The volume, by name or id.', names: 'volumes' };
const NODE: Parameter = { term: '<node>', description: 'The node of the copy.', names: 'nodes' };

function bodyOf(name: string, options: OptionValues): Readonly<Record<string, unknown>> {
  const kind = options.text('class');
  const size = options.text('size');
  if (kind === undefined || size === undefined) {
    throw usage('--class and --size are needed', [
      `berth volume create ${name} --class replicated --size 10Gi --replicas 1`,
    ]);
  }
  const [replicas, nodeId, hostPath] = ['replicas', 'node', 'hostPath'].map((option) => options.text(option));
  return {
    name,
    class: kind,
    type: options.text('type') ?? 'volume',
    sizeBytes: sizeOf('--size', size),
    ...(replicas === undefined ? {} : { replicas: wholeNumber('--replicas', replicas) }),
    ...(nodeId === undefined ? {} : { nodeId }),
    ...(hostPath === undefined ? {} : { hostPath }),
  };
}

const create: Subcommand = {
  name: 'create',
  summary: 'Create a volume',
  description: [
    'Creates a volume and waits until it can be mounted. The class says what happens to the bytes when a machine is lost, so it has no default: ephemeral, on one node; replicated, with copies on other nodes, one of which takes over; object, which can be recorded but not mounted yet.',
    'Copies may still be on their way when the command ends; berth describe volume shows how far they are behind. Ends with status 4 when it is not ready in time; the volume stays stored.',
  ],
  parameters: [{ term: '<name>', description: 'Unique in the tenant.' }],
  options: [
    {
      flags: '--class <class>',
      description: 'ephemeral, replicated or object.',
      values: ['ephemeral', 'replicated', 'object'],
    },
    { flags: '--size <amount>', description: 'E.g. 10Gi; at least 128Mi for the class replicated.' },
    {
      flags: '--type <type>',
      description: 'volume, bind or tmpfs.',
      default: 'volume',
      values: ['volume', 'bind', 'tmpfs'],
    },
    {
      flags: '--replicas <n>',
      description: 'Copies beside the primary, each on a node of its own. Default: none.',
    },
    {
      flags: '--node <name>',
      description: 'Node of the primary. Default: the least loaded one.',
      names: 'nodes',
    },
    { flags: '--host-path <path>', description: 'Directory of the machine; type bind only.' },
    { flags: '--no-wait', description: 'End as soon as it is stored.' },
    { flags: '--timeout <duration>', description: 'How long to wait until it is ready.', default: '5m' },
    OUTPUT_OPTION,
    ...REMOTE_OPTIONS,
  ],
  examples: [
    {
      line: 'berth volume create pg-data --class replicated --size 10Gi --replicas 1',
      what: 'one copy beside the primary',
    },
    {
      line: 'berth volume create cache --class ephemeral --type tmpfs --size 256Mi',
      what: 'in the memory of the container',
    },
  ],
  run: async (session, { parameters: [name = ''], options }) => {
    const format = outputFormat(options);
    const timeoutMs = timeoutOf(options);
    const body = bodyOf(name, options);
    const client = session.client(options);
    const { terminal } = session;
    const made = await client.record('POST /api/v1/dvm/volumes', { body: unjudged(body) });
    if (format === 'table') terminal.out(`volume/${name} created (${textOf(made.id)})\n`);
    else await printRecord(terminal, resourceOf('volumes'), made, format, session.now());
    for (const line of alterationLines(made, terminal.errStyle)) terminal.err(`${line}\n`);
    for (const line of warningLines(made, terminal.errStyle)) terminal.err(`${line}\n`);
    if (!options.unlessDenied('wait')) return EXIT.ok;
    return waitUntilReady(session, client, made, timeoutMs);
  },
};

const get = getCommand('volumes', NAME, {
  summary: 'Print one volume',
  description: [
    'Prints one volume; berth describe volume shows it with its copies, its users and what happened.',
  ],
  examples: [{ line: 'berth volume get pg-data -o yaml', what: 'every field of it' }],
});

async function printOf<T extends object>(
  session: Session,
  options: OptionValues,
  listing: Listing<T>,
  nothing: string,
  read: (client: Client) => Promise<readonly T[]>,
): Promise<number> {
  const format = outputFormat(options);
  const found = await read(session.client(options));
  await printFound(session, { ...listing, nothing }, found, format);
  return EXIT.ok;
}

const replicas: Subcommand = {
  name: 'replicas',
  summary: 'List the copies of a volume',
  description: [
    'Lists the copies beside the primary: live (may take over), syncing or failed, and how far each is behind, which is what would be lost now.',
  ],
  parameters: [NAME],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth volume replicas pg-data', what: 'is a copy live?' }],
  run: (session, { parameters: [name = ''], options }) =>
    printOf(
      session,
      options,
      VOLUME_COPIES,
      `${name} has no copies; next: berth volume add-replica ${name} NODE`,
      async (client) => (await findVolume(client, name)).replicas ?? [],
    ),
};

const snapshots: Subcommand = {
  name: 'snapshots',
  summary: 'List the snapshots of a volume',
  description: [
    'Lists the snapshots of a volume. This version makes none, so the list is empty unless another one made them; berth volume backup-job saves the bytes elsewhere.',
  ],
  parameters: [NAME],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth volume snapshots pg-data -o json', what: 'for scripts' }],
  run: (session, { parameters: [name = ''], options }) =>
    printOf(session, options, VOLUME_SNAPSHOTS, `${name} has no snapshots`, async (client) =>
      client.list('GET /api/v1/tenants/{tenant}/volumes/{id}/snapshots', {
        params: await inTenant(client, name),
      }),
    ),
};

async function inTenant(client: Client, word: string) {
  const { id = '' } = await findVolume(client, word);
  return { tenant: await tenantOf(client), id };
}

const addReplica: Subcommand = {
  name: 'add-replica',
  summary: 'Keep a copy on another node',
  description: [
    'Adds a copy of a replicated volume on a node that holds none of it yet, and wants one copy more from then on. It is live when it has caught up: see berth volume replicas.',
  ],
  parameters: [NAME, NODE],
  options: REMOTE_OPTIONS,
  examples: [{ line: 'berth volume add-replica pg-data berlin-3', what: 'a further copy' }],
  run: async (session, { parameters: [name = '', node = ''], options }) => {
    const client = session.client(options);
    await client.record('POST /api/v1/tenants/{tenant}/volumes/{id}/replicas', {
      params: await inTenant(client, name),
      body: { node_id: node },
    });
    session.terminal.out(`volume/${name} is copied to ${node}\n`);
    session.terminal.err(`${session.next(`berth volume replicas ${name}`)}\n`);
    return EXIT.ok;
  },
};

const removeReplica: Subcommand = {
  name: 'remove-replica',
  summary: 'Give up a copy, with its bytes',
  description: [
    'Removes the copy of a volume on a node, with its bytes there, and wants one copy fewer from then on. A former primary that kept bytes which no copy has loses them too.',
  ],
  parameters: [NAME, NODE],
  options: [YES_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth volume remove-replica pg-data berlin-3', what: 'one copy fewer' }],
  run: async (session, { parameters: [name = '', node = ''], options }) => {
    const client = session.client(options);
    const params = { ...(await inTenant(client, name)), node };
    await confirmDeletion(session, `the copy of volume/${name} on ${node}`, options);
    await client.record('DELETE /api/v1/tenants/{tenant}/volumes/{id}/replicas/{node}', { params });
    session.terminal.out(`the copy of volume/${name} on ${node} is removed\n`);
    return EXIT.ok;
  },
};

const promote: Subcommand = {
  name: 'promote',
  summary: 'Move the primary to a node with a live copy',
  description: [
    'Moves the primary of a replicated volume as planned, without loss: its image is fetched there, what mounts it stops, the last copy is made, and the other node takes over; what mounts it starts there. If the last copy is not made in time everything stays where it was, and the command says so and ends with status 4.',
  ],
  parameters: [NAME, { term: '<node>', description: 'The node that takes over.', names: 'nodes' }],
  options: [
    { flags: '--no-wait', description: 'End as soon as the move has begun.' },
    { flags: '--timeout <duration>', description: 'How long to wait for it.', default: '5m' },
    ...REMOTE_OPTIONS,
  ],
  examples: [{ line: 'berth volume promote pg-data berlin-2', what: 'before maintenance of its machine' }],
  run: async (session, { parameters: [name = '', node = ''], options }) => {
    const timeoutMs = timeoutOf(options);
    const client = session.client(options);
    const { id = '' } = await findVolume(client, name);
    await client.record('POST /api/v1/dvm/volumes/{id}/promote', { params: { id }, body: { node_id: node } });
    session.terminal.out(`volume/${name} moves to ${node}\n`);
    if (!options.unlessDenied('wait')) return EXIT.ok;
    return waitUntilPromoted(session, client, { id, name, node }, timeoutMs);
  },
};

const remove: Subcommand = {
  name: 'delete',
  summary: 'Delete a volume with its bytes',
  description: [
    'Deletes a volume with its bytes on every node. Refused while anything mounts it, also a stopped deployment. The volume is listed as Deleting until every node has removed its bytes.',
  ],
  parameters: [NAME],
  options: [YES_OPTION, ...REMOTE_OPTIONS],
  examples: [{ line: 'berth volume delete pg-data', what: 'when nothing mounts it any more' }],
  run: async (session, { parameters: [name = ''], options }) => {
    await confirmDeletion(session, `volume/${name} with its bytes`, options);
    await deleteVolume(session.client(options), name);
    session.terminal.out(`volume/${name} deleting\n`);
    return EXIT.ok;
  },
};

export const volume: CommandBody = {
  description: [
    'A volume outlives the containers that mount it. A replicated one has copies on other nodes, and a live copy takes over when the machine of the primary is lost.',
  ],
  examples: [
    {
      line: 'berth volume create pg-data --class replicated --size 10Gi --replicas 1',
      what: 'one copy beside the primary',
    },
    { line: 'berth volume list', what: 'the volumes of the tenant' },
    { line: 'berth volume replicas pg-data', what: 'how far its copies are behind' },
  ],
  subcommands: [
    listCommand('volumes', {
      summary: 'List volumes',
      description: ['Lists the volumes of the tenant; the same as berth get volumes.'],
      examples: [{ line: 'berth volume list -o wide', what: 'also who mounts them' }],
    }),
    get,
    create,
    replicas,
    addReplica,
    removeReplica,
    promote,
    snapshots,
    backupJobCommand,
    restoreJobCommand,
    drillJobCommand,
    remove,
  ],
};
