import { useMemo } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { shareOf, TightestQuota } from '../../components/quota-meters.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { count } from '../../lib/format.ts';
import type { TenantView } from '../../lib/records.ts';
import { useTenants } from './tenant-queries.ts';

type Standing = NonNullable<TenantView['standing']>;
interface Standed {
  readonly slug: string;
  readonly name: string;
  readonly standing: Standing;
  readonly troubles: number;
}

function troublesText({ attention }: Standing): string {
  const said = [
    attention.deployments === 0 ? undefined : count(attention.deployments, 'deployment'),
    attention.nodes === 0 ? undefined : count(attention.nodes, 'node'),
    attention.jobs === 0 ? undefined : count(attention.jobs, 'job'),
    attention.volumes === 0 ? undefined : count(attention.volumes, 'volume'),
  ].filter((text) => text !== undefined);
  return said.length === 0 ? 'nothing' : said.join(', ');
}

function rowsOf(tenants: readonly TenantView[]): readonly Standed[] {
  return tenants
    .flatMap(({ slug, name, standing }) => {
      if (standing === undefined) return [];
      const { deployments, nodes, jobs, volumes } = standing.attention;
      return [{ slug, name, standing, troubles: deployments + nodes + jobs + volumes }];
    })
    .sort((a, b) => b.troubles - a.troubles);
}

function Share({
  part,
  whole,
  word,
}: {
  readonly part: number;
  readonly whole: number;
  readonly word: string;
}) {
  if (whole === 0) return <span className="text-muted">none</span>;
  return (
    <span className={part < whole ? 'text-warn' : ''} title={`${part} of ${whole} ${word}`}>
      {part}/{whole} <span className="text-xs text-muted">{word}</span>
    </span>
  );
}

function columnsOf(onOpen: (slug: string) => void): readonly Column<Standed>[] {
  return [
    {
      title: 'Tenant',
      width: '15%',
      sortBy: ({ slug }) => slug,
      cell: ({ slug, name }) => (
        <button
          type="button"
          title={name}
          onClick={() => onOpen(slug)}
          className="font-medium hover:text-accent hover:underline"
        >
          {slug}
        </button>
      ),
    },
    {
      title: 'Needs attention',
      width: '26%',
      sortBy: ({ troubles }) => -troubles,
      cell: ({ standing, troubles }) => (
        <span className="flex items-center gap-2" title={troublesText(standing)}>
          <Badge tone={troubles === 0 ? 'ok' : 'bad'}>
            {troubles === 0 ? 'nothing' : count(troubles, 'problem')}
          </Badge>
          <span className="hidden truncate text-xs text-muted xl:inline">
            {troubles === 0 ? '' : troublesText(standing)}
          </span>
        </span>
      ),
    },
    {
      title: 'Nodes',
      wide: true,
      width: '11%',
      sortBy: ({ standing }) => standing.nodes.total,
      cell: ({ standing: { nodes } }) => <Share part={nodes.ready} whole={nodes.total} word="ready" />,
    },
    {
      title: 'Deployments',
      wide: true,
      width: '13%',
      sortBy: ({ standing }) => standing.deployments.total,
      cell: ({ standing: { deployments } }) => (
        <Share part={deployments.running} whole={deployments.total} word="running" />
      ),
    },
    {
      title: 'Instances',
      wide: true,
      width: '13%',
      sortBy: ({ standing }) => standing.instances.desired,
      cell: ({ standing: { instances } }) => (
        <Share part={instances.healthy} whole={instances.desired} word="healthy" />
      ),
    },
    {
      title: 'Quota',
      wide: true,
      sortBy: ({ standing }) => -Math.max(0, ...standing.quota.map(shareOf)),
      cell: ({ standing }) => <TightestQuota quota={standing.quota} />,
    },
  ];
}

/** Every tenant of the platform with how it stands, those that need somebody first; its name leads into it. */
export function AllTenantsPage() {
  const { chooseTenant } = useSession();
  const navigate = useNavigate();
  const { data, error } = useTenants();
  const rows = useMemo(() => data && rowsOf(data), [data]);
  const columns = useMemo(
    () =>
      columnsOf((slug) => {
        chooseTenant(slug);
        void navigate({ to: '/' });
      }),
    [chooseTenant, navigate],
  );
  const troubled = rows?.filter(({ troubles }) => troubles > 0).length ?? 0;
  return (
    <Page
      title="All tenants"
      note={
        rows === undefined
          ? 'How every tenant stands.'
          : troubled === 0
            ? `None of ${count(rows.length, 'tenant')} needs attention.`
            : `${troubled} of ${count(rows.length, 'tenant')} ${troubled === 1 ? 'needs' : 'need'} attention.`
      }
    >
      <RecordTable
        label="Tenants"
        one="tenant"
        rows={rows}
        error={error}
        columns={columns}
        rowKey={({ slug }) => slug}
        rowHeight={52}
        detail={({ standing: { nodes, deployments, instances } }) =>
          `nodes ${nodes.ready}/${nodes.total} · deployments ${deployments.running}/${deployments.total} · instances ${instances.healthy}/${instances.desired}`
        }
        textOf={({ slug, name }) => `${slug} ${name}`}
        empty={<EmptyState title="No tenants" icon="building" />}
      />
    </Page>
  );
}
