import {
  meshStanding,
  type MeshStanding,
  WAY_WORDS,
  waysText,
} from '../../../core/contract/mesh-standing.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Panel } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { bytes } from '../../lib/format.ts';
import type { Node } from '../../lib/records.ts';
import { type NodePath, useNetwork } from './network-queries.ts';
import { MatrixLegend, PathMatrix } from './path-matrix.tsx';

const STANDING_TONES: Readonly<Record<MeshStanding['state'], Tone>> = {
  joined: 'ok',
  joining: 'info',
  apart: 'warn',
};
const WAY_TONES = { direct: 'ok', relayed: 'warn', none: 'bad' } as const;

interface Row {
  readonly node: Node;
  readonly standing: MeshStanding;
  readonly paths: readonly NodePath[];
}

/** Why it has no part, or what is wrong with its part, and what to do. */
function why({ standing }: Row): string {
  return [standing.why, standing.fix].filter((text) => text !== undefined).join('; ');
}

function waysOf({ paths }: Row): string {
  return waysText(paths.map(({ way }) => way));
}

const NODE_COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Node',
    width: '14%',
    sortBy: ({ node }) => node.name,
    cell: ({ node }) => <RowLink to={`/nodes/${node.name}`}>{node.name}</RowLink>,
  },
  {
    title: 'Network',
    width: '7.5rem',
    sortBy: ({ standing }) => standing.state,
    cell: ({ standing: { state, why: problem } }) => (
      <Badge tone={state === 'joined' && problem !== undefined ? 'bad' : STANDING_TONES[state]}>
        {state}
      </Badge>
    ),
  },
  {
    title: 'Subnet',
    width: '9.5rem',
    wide: true,
    sortBy: ({ node }) => node.mesh?.subnet ?? '',
    cell: ({ node }) => <span className="font-mono text-xs">{node.mesh?.subnet}</span>,
  },
  {
    title: 'Addresses',
    width: '18%',
    wide: true,
    cell: ({ node: { mesh } }) => (
      <span className="font-mono text-xs" title={mesh?.addresses.join(', ')}>
        {mesh === undefined ? null : `${mesh.addresses.join(', ')} UDP ${mesh.port}`}
      </span>
    ),
  },
  {
    title: 'Paths and problems',
    wide: true,
    cell: (row) => (
      <span className="text-muted" title={why(row)}>
        {why(row) || waysOf(row)}
      </span>
    ),
  },
];

const PATH_COLUMNS: readonly Column<NodePath>[] = [
  { title: 'From', width: '14%', sortBy: ({ from }) => from, cell: ({ from }) => from },
  { title: 'To', width: '14%', sortBy: ({ to }) => to, cell: ({ to }) => to },
  {
    title: 'Path',
    width: '8rem',
    sortBy: ({ way }) => way.state,
    cell: ({ way: { state } }) => <Badge tone={WAY_TONES[state]}>{WAY_WORDS[state]}</Badge>,
  },
  {
    title: 'Address, or why not',
    wide: true,
    cell: ({ way }) => (
      <span className="text-muted" title={way.fix}>
        {way.address ?? [way.why, way.fix].filter((text) => text !== undefined).join('; ')}
      </span>
    ),
  },
  {
    title: 'Round trip',
    width: '7rem',
    wide: true,
    align: 'right',
    sortBy: ({ roundTripMs = Infinity }) => roundTripMs,
    cell: ({ roundTripMs, way }) =>
      roundTripMs === undefined || way.state === 'none' ? null : `${roundTripMs} ms`,
  },
  {
    title: 'Received',
    width: '7rem',
    wide: true,
    align: 'right',
    sortBy: ({ receivedBytes }) => receivedBytes,
    cell: ({ receivedBytes }) => bytes(receivedBytes),
  },
  {
    title: 'Sent',
    width: '7rem',
    wide: true,
    align: 'right',
    sortBy: ({ sentBytes }) => sentBytes,
    cell: ({ sentBytes }) => bytes(sentBytes),
  },
];

/** Those that something is wrong with come first. */
function rowsOf(nodes: readonly Node[], paths: readonly NodePath[]): readonly Row[] {
  const rows = nodes.map((node) => ({
    node,
    standing: meshStanding(node),
    paths: paths.filter(({ from }) => from === node.name),
  }));
  return rows.toSorted((a, b) => Number(b.standing.why !== undefined) - Number(a.standing.why !== undefined));
}

/** The nodes of the tenant as one network, and how packets go between them. */
export function MeshPanel() {
  const { nodes, paths = [], error } = useNetwork();
  const rows = nodes && rowsOf(nodes, paths);
  const joined = (rows ?? []).filter(({ standing }) => standing.state === 'joined');
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-col gap-3">
        <RecordTable
          label="Nodes"
          one="node"
          rows={rows}
          error={error}
          columns={NODE_COLUMNS}
          rowKey={({ node }) => node.name}
          textOf={(row) => `${row.node.name} ${row.node.mesh?.subnet ?? ''} ${why(row)}`}
          detail={(row) => why(row) || [row.node.mesh?.subnet, waysOf(row)].filter(Boolean).join(' · ')}
          empty={
            <EmptyState title="No nodes" icon="server">
              <p>With the second one, containers of both reach one another by name.</p>
              <RowLink to="/nodes">Enrol a node</RowLink>
            </EmptyState>
          }
        />
      </div>
      {joined.length < 2 ? null : (
        <>
          <Panel
            flush
            title="Paths"
            note={`From each node to each other: ${waysText(paths.map(({ way }) => way))}`}
            actions={<MatrixLegend />}
          >
            <PathMatrix nodes={joined.map(({ node }) => node.name).toSorted(byName)} paths={paths} />
          </Panel>
          <div className="flex flex-col gap-3">
            <RecordTable
              label="Path details"
              one="path"
              rows={paths.toSorted((a, b) => URGENCY[a.way.state] - URGENCY[b.way.state])}
              error={null}
              columns={PATH_COLUMNS}
              rowKey={({ from, to }) => `${from} ${to}`}
              textOf={({ from, to, way }) => `${from} ${to} ${way.state} ${way.address ?? ''}`}
              detail={({ way }) => way.address ?? way.why}
              empty={<EmptyState title="Nothing has been tried yet" icon="network" />}
            />
          </div>
        </>
      )}
    </div>
  );
}

/** berlin-2 before berlin-10. */
function byName(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

/** What needs somebody comes first. */
const URGENCY = { none: 0, relayed: 1, direct: 2 } as const;
