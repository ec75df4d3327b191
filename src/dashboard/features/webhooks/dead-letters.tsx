import { useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { count } from '../../lib/format.ts';
import { type DeadLetter, useDeadLetters } from './webhook-queries.ts';

function Letter({
  letter,
  isBusy,
  onSend,
}: {
  readonly letter: DeadLetter;
  readonly isBusy: boolean;
  readonly onSend: (() => void) | undefined;
}) {
  const { event, deadAt, reason, attempts } = letter;
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-1 border-b px-4 py-2.5 last:border-b-0">
      <div className="min-w-0 flex-[1_1_16rem]">
        <p className="text-xs text-bad">{reason}</p>
        <p className="text-xs">
          <span className="font-medium">{event.kind}</span>{' '}
          <span className="text-muted">
            {event.subject.kind}/{event.subject.name}: {event.message}
          </span>
        </p>
        <p className="text-xs text-muted">
          given up <TimeAgo time={deadAt} /> after {count(attempts, 'attempt')}
        </p>
      </div>
      {onSend === undefined ? null : (
        <Button small busy={isBusy} aria-label={`Send ${event.kind} of ${event.at} again`} onClick={onSend}>
          Send again
        </Button>
      )}
    </li>
  );
}

/** Events that were given up, and the way to send them again. */
export function DeadLetters({ name }: { readonly name: string }) {
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const { done, failed } = useToast();
  const { data, error } = useDeadLetters(name);
  const [sending, setSending] = useState<string>();
  const send = async (letter?: DeadLetter) => {
    setSending(letter?.id ?? '');
    try {
      const { ordered } = await api.call('POST /api/v1/webhooks/{name}/redeliver', {
        params: { name },
        body: letter === undefined ? {} : { events: [letter.id] },
      });
      done(`${count(ordered, 'dead letter')} of ${name} to be sent again.`);
      await reread('webhooks');
    } catch (problem) {
      failed(problem);
    } finally {
      setSending(undefined);
    }
  };
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} />;
  const maySend = can('deploy');
  return (
    <Panel
      flush
      title="Dead letters"
      note="Not taken for 3 days, refused, or no longer in the journal; the last 1,000 are kept"
      actions={
        maySend && data.length > 0 ? (
          <Button busy={sending === ''} onClick={() => void send()}>
            Send all again
          </Button>
        ) : undefined
      }
    >
      {data.length === 0 ? (
        <EmptyState title="Every event was delivered or waits" icon="check" />
      ) : (
        <ul aria-label="Dead letters">
          {data.map((letter) => (
            <Letter
              key={letter.id}
              letter={letter}
              isBusy={sending === letter.id}
              onSend={maySend ? () => void send(letter) : undefined}
            />
          ))}
        </ul>
      )}
    </Panel>
  );
}
