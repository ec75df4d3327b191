import { meshStanding, namesOf, waysText } from '../../core/contract/mesh-standing.ts';
import { OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { indented, rows } from '../describing.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { adviceLines, isJoined, type NodePath, meshPaths, PATHS } from '../mesh.ts';
import { type Listing, listText, outputFormat, isWhole, printWhole } from '../output.ts';
import type { Deployment, Node } from '../records.ts';
import type { Session } from '../session.ts';

/** More than this many: only those that are not direct, unless all are asked for. */
const MAX_PATHS = 30;

const NODES: Listing<Node> = {
  nameOf: ({ name }) => `node/${textOf(name)}`,
  columns: [
    { header: 'NODE', cell: ({ name }) => textOf(name) },
    { header: 'STATUS', cell: ({ status }) => textOf(status) },
    { header: 'SUBNET', cell: ({ mesh }) => textOf(mesh?.subnet) || '-' },
    { header: 'UDP', cell: ({ mesh }) => textOf(mesh?.port) || '-' },
    { header: 'ADDRESSES', cell: ({ mesh }) => (mesh?.addresses ?? []).join(', ') || '-' },
    { header: 'NETWORK', cell: (node) => meshStanding(node).state },
  ],
};

const ADDRESSES: Listing<Deployment> = {
  nameOf: ({ name }) => `deployment/${textOf(name)}`,
  columns: [
    { header: 'NAME', cell: ({ name }) => namesOf(textOf(name)).own },
    { header: 'ADDRESS', cell: ({ status }) => textOf(status?.virtualAddress) || '-' },
    {
      header: 'INSTANCES',
      cell: ({ status }) =>
        (status?.instances ?? [])
          .map(({ nodeId, address }) => `${textOf(address) || '-'} on ${textOf(nodeId)}`)
          .join(', '),
    },
  ],
};

export const showNetwork: Subcommand = {
  name: 'show',
  summary: "Show the tenant's network: nodes, the ways between them, addresses",
  description: [
    'Shows which nodes are part of the network and why others are not, how packets go from each to each (direct, relayed by the control plane, or not at all), and under which name and address each deployment is reached from every node.',
    `With more than ${MAX_PATHS} ways, those that are direct are only counted; -o wide lists all.`,
  ],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth network show', what: 'does every node reach every other?' },
    { line: 'berth network show -o json', what: 'with every address, for programs' },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const client = session.client(options);
    const [nodes, deployments] = await Promise.all([
      client.list('GET /api/v1/nodes'),
      client.list('GET /api/v1/deployments'),
    ]);
    const { terminal } = session;
    if (isWhole(format)) await printWhole(terminal, format, structured(nodes, deployments));
    else if (format === 'name')
      for (const node of nodes.filter(isJoined)) terminal.out(`${NODES.nameOf(node)}\n`);
    else terminal.out(networkText(session, nodes, deployments, format));
    return EXIT.ok;
  },
};

function structured(nodes: readonly Node[], deployments: readonly Deployment[]): unknown {
  return {
    nodes: nodes.map((node) => ({
      name: node.name,
      status: node.status,
      ...meshStanding(node),
      ...(node.mesh && { mesh: node.mesh }),
    })),
    deployments: deployments.map(({ name, status }) => ({
      name,
      names: namesOf(textOf(name)),
      ...(status?.virtualAddress !== undefined && { virtualAddress: status.virtualAddress }),
      instances: (status?.instances ?? []).map(({ id, nodeId, address, state, health }) => ({
        id,
        nodeId,
        state,
        health,
        address,
      })),
    })),
  };
}

function networkText(
  session: Session,
  nodes: readonly Node[],
  deployments: readonly Deployment[],
  format: 'table' | 'wide',
): string {
  const { terminal } = session;
  const now = session.now();
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const paths = nodes.flatMap((node) => meshPaths(node, byName));
  const shown = pathsShown(paths, format);
  const part = <T>(title: string, listing: Listing<T>, records: readonly T[], nothing: string): string =>
    `\n${terminal.style.bold(title)}\n${records.length === 0 ? `  ${nothing}\n` : indented(listText(terminal, listing, records, format, now))}`;
  const head = rows([
    ['nodes', `${nodes.filter(isJoined).length} of ${nodes.length} take part`],
    ['paths', waysText(paths.map(({ way }) => way))],
  ]);
  const apart = nodes.flatMap((node) => {
    const { why, fix } = meshStanding(node);
    return why === undefined ? [] : [`${textOf(node.name)}: ${why}${fix === undefined ? '' : `; ${fix}`}`];
  });
  return [
    `${terminal.style.bold('network of the tenant')}\n${head}`,
    part('Nodes', NODES, nodes, `none; ${session.next('berth node token')}`),
    adviceLines(terminal.style, apart),
    paths.length === 0 ? '' : part('Paths', PATHS, shown, 'all are direct; -o wide lists them'),
    adviceLines(
      terminal.style,
      shown.flatMap(({ way }) => way.fix ?? []),
    ),
    deployments.length === 0 ? '' : part('Addresses', ADDRESSES, deployments, ''),
  ].join('');
}

function pathsShown(paths: readonly NodePath[], format: 'table' | 'wide'): readonly NodePath[] {
  if (format === 'wide' || paths.length <= MAX_PATHS) return paths;
  return paths.filter(({ way }) => way.state !== 'direct');
}
