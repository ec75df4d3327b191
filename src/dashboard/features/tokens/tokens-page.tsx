import { useMemo, useState } from 'react';
import type { ItemOf } from '../../../sdk/index.ts';
import { useWindow } from '../../app/address.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useRecords, useReread } from '../../app/use-records.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { ago, dateTime } from '../../lib/format.ts';
import { CreateToken } from './create-token.tsx';

type Token = ItemOf<'GET /api/v1/tokens'>;

function isOver({ revokedAt, expiresAt }: Token): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now());
}

function roleText({ role, kind }: Pick<Token, 'role' | 'kind'>): string {
  return kind === 'join' ? 'enrols a node, once' : role;
}

function detailOf(token: Token): string {
  const { createdAt, expiresAt } = token;
  const ends = expiresAt === undefined ? 'never ends' : `ends ${dateTime(expiresAt)}`;
  return `${roleText(token)} · made ${ago(createdAt, Date.now())} · ${ends}`;
}

function columnsOf(own: string, onRevoke: (token: Token) => void): readonly Column<Token>[] {
  return [
    {
      title: 'Name',
      width: '30%',
      sortBy: ({ name }) => name,
      cell: ({ name, id }) => (
        <span className="flex items-center gap-2">
          <span className="truncate font-medium max-lg:wrap-anywhere max-lg:whitespace-normal" title={id}>
            {name}
          </span>
          {id === own ? <Badge tone="info">yours</Badge> : null}
        </span>
      ),
    },
    {
      title: 'State',
      width: '7rem',
      sortBy: (token) => Number(isOver(token)),
      cell: (token) =>
        token.revokedAt !== undefined ? (
          <Badge tone="bad">revoked</Badge>
        ) : isOver(token) ? (
          <Badge>expired</Badge>
        ) : (
          <Badge tone="ok">active</Badge>
        ),
    },
    {
      title: 'Role',
      wide: true,
      sortBy: ({ role }) => role,
      cell: ({ role, kind }) => <span className="text-muted">{roleText({ role, kind })}</span>,
    },
    {
      title: 'Made',
      width: '12%',
      wide: true,
      sortBy: ({ createdAt }) => -Date.parse(createdAt),
      cell: ({ createdAt }) => <TimeAgo time={createdAt} />,
    },
    {
      title: 'Ends',
      width: '20%',
      wide: true,
      sortBy: ({ expiresAt }) => expiresAt ?? '~',
      cell: ({ expiresAt }) => (
        <span className="text-muted">{expiresAt === undefined ? 'never' : dateTime(expiresAt)}</span>
      ),
    },
    {
      title: 'Revoke',
      width: '7rem',
      cell: (token) =>
        isOver(token) ? null : (
          <Button small tone="danger" aria-label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
    },
  ];
}

export function TokensPage() {
  const api = useApi();
  const { view, tenant } = useSession();
  const reread = useReread();
  const { done } = useToast();
  const { data, error } = useRecords('tokens', 'GET /api/v1/tokens');
  const [isCreating, setCreating] = useWindow('new');
  const [leaving, setLeaving] = useState<Token>();
  const columns = useMemo(() => columnsOf(view.tokenId, setLeaving), [view.tokenId]);
  const rows = useMemo(() => data?.toSorted((a, b) => Number(isOver(a)) - Number(isOver(b))), [data]);
  const revoke = async () => {
    await api.call('DELETE /api/v1/tokens/{id}', { params: { id: leaving?.id ?? '' } });
    done(`Token ${leaving?.name ?? ''} is revoked.`);
    await reread('tokens');
  };
  return (
    <Page
      title="Tokens"
      note={`Credentials of ${tenant.slug}. A token is shown once, when it is made.`}
      actions={
        <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
          New token
        </Button>
      }
    >
      <RecordTable
        label="Tokens"
        one="token"
        rows={rows}
        error={error}
        columns={columns}
        rowKey={({ id }) => id}
        detail={detailOf}
        textOf={({ name, role, id, kind }) => `${name} ${role} ${id} ${kind}`}
        empty={<EmptyState title="No tokens" icon="key" />}
      />
      {isCreating ? <CreateToken onClose={() => setCreating(false)} /> : null}
      <Confirm
        danger
        title={`Revoke ${leaving?.name ?? ''}?`}
        action="Revoke"
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        onConfirm={revoke}
      >
        <p>
          Whatever uses it is refused from now on.
          {leaving?.id === view.tokenId
            ? ' This is the token of your own session: you will be signed out.'
            : ''}
          {leaving?.kind === 'node' ? ' Its node cannot report any more until it is enrolled again.' : ''}
        </p>
      </Confirm>
    </Page>
  );
}
