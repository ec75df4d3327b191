import { useMemo, useState } from 'react';
import { secretStanding } from '../../../core/contract/secret-standing.ts';
import { useSession } from '../../app/session.tsx';
import { useRecords } from '../../app/use-records.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { count } from '../../lib/format.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';
import { GraphView } from './graph-view.tsx';
import { sourcesOf } from './readers.ts';
import { secretPage, type SecretResource, useSecretPaths } from './secret-queries.ts';
import { UnreferencedSecrets } from './unreferenced-secrets.tsx';
import { WriteSecret } from './write-secret.tsx';

/** More than this is not read in a drawing. */
const MAX_DRAWN = 40;

function columnsOf(onWrite: ((path: SecretResource) => void) | undefined): readonly Column<SecretResource>[] {
  return [
    {
      title: 'Path',
      width: '30%',
      sortBy: ({ path }) => path,
      cell: (row) => (
        <RowLink to={secretPage(row)}>
          <span className="font-mono text-xs">{row.path}</span>
        </RowLink>
      ),
    },
    {
      title: 'State',
      width: '7rem',
      sortBy: ({ exists }) => Number(exists),
      cell: ({ exists, problem }) => (
        <Badge tone={exists ? 'ok' : 'bad'}>
          <span title={problem}>{secretStanding(exists)}</span>
        </Badge>
      ),
    },
    {
      title: 'Keys',
      wide: true,
      cell: ({ keys }) => <code className="font-mono text-xs text-muted">{keys.join(', ') || 'none'}</code>,
    },
    {
      title: 'Version',
      width: '10%',
      wide: true,
      sortBy: ({ version }) => version,
      cell: ({ version, exists }) => (exists ? version : <span className="text-muted">none</span>),
    },
    {
      title: 'Consumers',
      width: '12%',
      wide: true,
      sortBy: ({ consumers }) => consumers,
      cell: ({ consumers }) => consumers,
    },
    ...(onWrite === undefined
      ? []
      : [
          {
            title: 'Write',
            width: '5.5rem',
            cell: (row: SecretResource) => (
              <Button small aria-label={`Write ${row.path}`} onClick={() => onWrite(row)}>
                Write
              </Button>
            ),
          },
        ]),
  ];
}

function Graph({ paths }: { readonly paths: readonly SecretResource[] }) {
  const { data: deployments } = useDeployments();
  const { data: jobs = [] } = useRecords('jobs', 'GET /api/v1/jobs');
  const sources = useMemo(
    () => sourcesOf(paths.slice(0, MAX_DRAWN), deployments ?? [], jobs),
    [paths, deployments, jobs],
  );
  return (
    <Panel
      title="Who reads what"
      note={
        paths.length > MAX_DRAWN
          ? `The first ${MAX_DRAWN} of ${count(paths.length, 'path')}`
          : 'Paths, and the deployments and jobs that have them delivered'
      }
    >
      <GraphView sources={sources} />
    </Panel>
  );
}

export function SecretsPage() {
  const { can } = useSession();
  const { data, error } = useSecretPaths();
  const [open, setOpen] = useState<{ readonly path?: SecretResource }>();
  const mayWrite = can('secrets.write');
  const columns = useMemo(() => columnsOf(mayWrite ? (path) => setOpen({ path }) : undefined), [mayWrite]);
  const write = mayWrite ? (
    <Button tone="primary" icon="plus" onClick={() => setOpen({})}>
      Write a secret
    </Button>
  ) : null;
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Secrets"
      note="Paths that deployments, jobs and webhooks reference. Values are delivered to containers and shown nowhere."
      actions={write}
    >
      <RecordTable
        label="Secrets"
        one="path"
        rows={data}
        error={error}
        columns={columns}
        rowKey={({ path }) => path}
        textOf={({ path, keys }) => `${path} ${keys.join(' ')}`}
        empty={
          <EmptyState title="Nothing references a secret yet" icon="key">
            <p>Write one here, and name its path in a deployment.</p>
            {write}
          </EmptyState>
        }
      />
      <UnreferencedSecrets />
      {data === undefined || data.length === 0 ? null : <Graph paths={data} />}
      {open === undefined ? null : (
        <WriteSecret
          onClose={close}
          {...(open.path === undefined ? {} : { namespace: open.path.namespace, name: open.path.name })}
        />
      )}
    </Page>
  );
}
