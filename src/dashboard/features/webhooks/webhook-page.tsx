import { useState } from 'react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useParam } from '../../app/address.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button, EitherWord } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Facts } from '../../components/facts.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { bytes, dateTime } from '../../lib/format.ts';
import { DeadLetters } from './dead-letters.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';
import { filterText, troubleOf, WebhookBadge } from './webhook-parts.tsx';
import { useWebhook, type Webhook } from './webhook-queries.ts';

function Actions({ webhook }: { readonly webhook: Webhook }) {
  const { name, status } = webhook;
  const api = useApi();
  const reread = useReread();
  const navigate = useNavigate();
  const { done, failed } = useToast();
  const [dialog, setDialog] = useState<'edit' | 'delete'>();
  const [isBusy, setBusy] = useState(false);
  // Written again, one whose receiver is gone is tried anew.
  const isHeld = status.state === 'paused' || status.state === 'gone';
  const hold = async () => {
    setBusy(true);
    try {
      await api.call('PUT /api/v1/webhooks/{name}', { params: { name }, body: { paused: !isHeld } });
      done(isHeld ? `${name} sends again, what was held first.` : `${name} is paused; events are held.`);
      await reread('webhooks');
    } catch (problem) {
      failed(problem);
    } finally {
      setBusy(false);
    }
  };
  const remove = async () => {
    await api.call('DELETE /api/v1/webhooks/{name}', { params: { name } });
    done(`Webhook ${name} is deleted.`);
    await navigate({ to: '/webhooks' });
    await reread('webhooks');
  };
  return (
    <>
      <Button icon={isHeld ? 'play' : 'pause'} busy={isBusy} onClick={() => void hold()}>
        <EitherWord shown={isHeld ? 'Resume' : 'Pause'} other={isHeld ? 'Pause' : 'Resume'} />
      </Button>
      <Button icon="pencil" onClick={() => setDialog('edit')}>
        Edit
      </Button>
      <Button tone="danger" icon="trash" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      {dialog === 'edit' ? <WebhookDialog stored={webhook} onClose={() => setDialog(undefined)} /> : null}
      <Confirm
        danger
        title={`Delete ${name}?`}
        action="Delete"
        typed={name}
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        onConfirm={remove}
      >
        <p>Its dead letters go with it, and events that wait are not sent.</p>
      </Confirm>
    </>
  );
}

function Detail({ webhook }: { readonly webhook: Webhook }) {
  const { url, signing, status, createdAt } = webhook;
  const {
    lastSuccess,
    lastFailure,
    attempts,
    nextAttemptAt,
    pending,
    dropped,
    deadLetters,
    deadLetterBytes,
  } = status;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-2">
      <Panel title="Webhook">
        <Facts
          facts={[
            [
              'Address',
              <code key="url" className="font-mono break-all">
                {url}
              </code>,
            ],
            ['Events', filterText(webhook)],
            [
              'Signed with',
              <Link key="key" to={`/secrets/${signing.vault_path}`} className="font-mono underline">
                {signing.vault_path}#{signing.key}
              </Link>,
            ],
            ['Created', <TimeAgo key="made" time={createdAt} />],
          ]}
        />
      </Panel>
      <Panel title="Deliveries">
        <Facts
          facts={[
            ['Pending', pending.toLocaleString('en')],
            [
              'Last delivery',
              lastSuccess === undefined ? (
                'none yet'
              ) : (
                <span key="good">
                  <TimeAgo time={lastSuccess.at} />, answered {lastSuccess.code}
                </span>
              ),
            ],
            [
              'Last failure',
              lastFailure === undefined ? undefined : (
                <span key="bad">
                  <span className="text-bad">{lastFailure.reason}</span> <TimeAgo time={lastFailure.at} />
                </span>
              ),
            ],
            ['Tried', attempts === 0 ? undefined : `${attempts} times (the oldest event that waits)`],
            ['Next attempt', nextAttemptAt === undefined ? undefined : dateTime(nextAttemptAt)],
            [
              'Dead letters',
              deadLetters === 0
                ? undefined
                : `${deadLetters.toLocaleString('en')}${deadLetterBytes === undefined ? '' : `, ${bytes(deadLetterBytes)} of 1 MiB`}`,
            ],
            [
              'Dropped',
              dropped === 0
                ? undefined
                : `${dropped.toLocaleString('en')} dead letters made room for newer ones`,
            ],
          ]}
        />
      </Panel>
    </div>
  );
}

export function WebhookPage() {
  const name = useParam('name');
  const { can } = useSession();
  const { data: webhook, error } = useWebhook(name);
  const back = { to: '/webhooks', title: 'Webhooks' };
  if (webhook === undefined) return <PendingPage title={name} back={back} error={error} />;
  return (
    <Page
      title={name}
      back={back}
      beside={<WebhookBadge webhook={webhook} />}
      note={troubleOf(webhook)}
      actions={can('deploy') ? <Actions webhook={webhook} /> : null}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      <Detail webhook={webhook} />
      <DeadLetters name={name} />
    </Page>
  );
}
