import { useState } from 'react';
import { useSession } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { ago, count } from '../../lib/format.ts';
import { WebhookDialog } from './webhook-dialog.tsx';
import { filterText, troubleOf, WebhookBadge } from './webhook-parts.tsx';
import { useWebhooks, type Webhook } from './webhook-queries.ts';

const COLUMNS: readonly Column<Webhook>[] = [
  {
    title: 'Name',
    width: '16%',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <RowLink to={`/webhooks/${name}`}>{name}</RowLink>,
  },
  {
    title: 'State',
    width: '7.5rem',
    sortBy: ({ status }) => status.state,
    cell: (webhook) => <WebhookBadge webhook={webhook} />,
  },
  {
    title: 'Pending',
    width: '6.5rem',
    wide: true,
    sortBy: ({ status }) => status.pending,
    cell: ({ status }) => status.pending.toLocaleString('en'),
  },
  {
    title: 'Dead letters',
    width: '8rem',
    wide: true,
    sortBy: ({ status }) => status.deadLetters,
    cell: ({ status }) => (
      <span className={status.deadLetters === 0 ? 'text-muted' : 'text-bad'}>
        {status.deadLetters === 0 ? 'none' : status.deadLetters.toLocaleString('en')}
      </span>
    ),
  },
  {
    title: 'Delivered',
    width: '8rem',
    wide: true,
    sortBy: ({ status }) => status.lastSuccess?.at ?? '',
    cell: ({ status }) => <TimeAgo time={status.lastSuccess?.at} />,
  },
  {
    title: 'Address',
    width: '20%',
    wide: true,
    cell: ({ url }) => (
      <span className="font-mono text-xs text-muted" title={url}>
        {url}
      </span>
    ),
  },
  {
    title: 'Message',
    wide: true,
    cell: (webhook) => (
      <span className="line-clamp-2 text-xs whitespace-normal text-muted" title={troubleOf(webhook)}>
        {troubleOf(webhook)}
      </span>
    ),
  },
];

/** On a narrow screen: what is wrong, then how it goes. */
function detailOf(webhook: Webhook): string {
  const { pending, deadLetters, lastSuccess } = webhook.status;
  return [
    ...[troubleOf(webhook) ?? []].flat(),
    `${pending} pending`,
    ...(deadLetters === 0 ? [] : [count(deadLetters, 'dead letter')]),
    `delivered ${ago(lastSuccess?.at, Date.now())}`,
    filterText(webhook),
  ].join(' · ');
}

export function WebhooksPage() {
  const { can } = useSession();
  const { data, error } = useWebhooks();
  const [isCreating, setCreating] = useState(false);
  const create = can('deploy') ? (
    <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
      New webhook
    </Button>
  ) : null;
  return (
    <Page title="Webhooks" note="Events of the tenant, sent to an address of yours." actions={create}>
      <RecordTable
        label="Webhooks"
        one="webhook"
        rows={data}
        error={error}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        detail={detailOf}
        textOf={({ name, url }) => `${name} ${url}`}
        empty={
          <EmptyState title="No webhooks yet" icon="external">
            <p>A webhook tells another program what happens here: signed, at least once, in order.</p>
            {create}
          </EmptyState>
        }
      />
      {isCreating ? <WebhookDialog onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}
