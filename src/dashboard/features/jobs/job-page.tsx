import type { Job } from '../../lib/records.ts';
import { useMemo, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useAddress, useParam } from '../../app/address.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button, ButtonLink, EitherWord } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Facts, Labels } from '../../components/facts.tsx';
import { LogView } from '../../components/log-view.tsx';
import type { LogSource } from '../../components/use-log.ts';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { TimeAgo, useNow } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import { reasonFirst } from '../../lib/reason-first.ts';
import { boundsText } from '../../../core/model/container-defaults.ts';
import { count, dateTime } from '../../lib/format.ts';
import { followedEntries } from '../../lib/log-lines.ts';
import { isUnderWay, type Run, useJob } from './job-queries.ts';
import { RunBadge } from '../../components/run-badge.tsx';
import { runTime } from './run-time.ts';

function Actions({ job }: { readonly job: Job }) {
  const { name, status } = job;
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const navigate = useNavigate();
  const { done, failed } = useToast();
  const [dialog, setDialog] = useState<'cancel' | 'delete'>();
  const [isBusy, setBusy] = useState(false);
  if (!can('deploy')) return null;
  const active = status.runs[0] !== undefined && isUnderWay(status.runs[0]);
  const run = async () => {
    setBusy(true);
    try {
      await api.call('POST /api/v1/jobs/{name}/run', { params: { name } });
      done(`${name} runs now.`);
      await reread('jobs');
    } catch (problem) {
      failed(problem);
    } finally {
      setBusy(false);
    }
  };
  const cancel = async () => {
    await api.call('POST /api/v1/jobs/{name}/cancel', { params: { name } });
    done(`The run of ${name} is ended.`);
    await reread('jobs');
  };
  const remove = async () => {
    await api.call('DELETE /api/v1/jobs/{name}', { params: { name } });
    done(`${name} is deleted.`);
    await navigate({ to: '/jobs' });
    await reread('jobs');
  };
  return (
    <>
      {active ? (
        <Button icon="close" onClick={() => setDialog('cancel')}>
          <EitherWord shown="Cancel the run" other="Run now" />
        </Button>
      ) : (
        <Button tone="primary" icon="play" busy={isBusy} onClick={() => void run()}>
          <EitherWord shown="Run now" other="Cancel the run" />
        </Button>
      )}
      <ButtonLink to={`/jobs/${name}/edit`} icon="pencil">
        Edit
      </ButtonLink>
      <Button tone="danger" icon="trash" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      <Confirm
        danger
        title="End the run that is under way?"
        action="End the run"
        isOpen={dialog === 'cancel'}
        onClose={() => setDialog(undefined)}
        onConfirm={cancel}
      >
        <p>Its container is stopped, and the run is not tried again.</p>
      </Confirm>
      <Confirm
        danger
        title={`Delete ${name}?`}
        action="Delete"
        typed={name}
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        onConfirm={remove}
      >
        <p>Its runs and their logs go with it. A run under way is ended.</p>
      </Confirm>
    </>
  );
}

function RunRow({
  run,
  isShown,
  onShow,
}: {
  readonly run: Run;
  readonly isShown: boolean;
  readonly onShow: () => void;
}) {
  const now = useNow();
  return (
    <li className={`border-b px-4 py-2.5 last:border-b-0 ${isShown ? 'bg-accent-soft/60' : ''}`}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="w-24">
          <RunBadge state={run.state} />
        </span>
        <span className="w-24 text-xs text-muted">
          <TimeAgo time={run.createdAt} />
        </span>
        <span className="w-24 text-xs tabular-nums">{runTime(run.startedAt, run.finishedAt, now)}</span>
        <span className="min-w-0 flex-1 truncate text-xs text-muted">
          {run.trigger}
          {run.nodeId === undefined ? '' : ` on ${run.nodeId}`}, {count(run.attempts, 'attempt')}
          {run.exitCode === undefined ? '' : `, exit ${run.exitCode}`}
          {run.skipped === undefined ? '' : `, ${run.skipped} slots skipped`}
        </span>
        <Button small aria-pressed={isShown} disabled={run.attempts === 0} onClick={onShow}>
          Log
        </Button>
      </div>
      {run.state === 'Succeeded' ? null : (
        <p className="mt-1 text-xs text-muted">
          {run.reason === undefined ? null : <code className="mr-2 font-mono text-bad">{run.reason}</code>}
          {run.message}
          {run.retryAt === undefined ? '' : `; tried again ${dateTime(run.retryAt)}`}
        </p>
      )}
      {run.attempts < 2 ? null : (
        <ul className="mt-1 text-xs text-muted">
          {(run.failures ?? []).map(({ attempt, nodeId, message }) => (
            <li key={attempt}>
              Attempt {attempt} on {nodeId}: {message}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const TAIL = 5000;

/** The log of one run: of the chosen attempt, live while it runs. */
function RunLog({ job, run }: { readonly job: string; readonly run: Run }) {
  const [attempt, setAttempt] = useState<number>();
  const shown = Math.min(attempt ?? run.attempts, run.attempts);
  const api = useApi();
  const isLive = isUnderWay(run) && shown === run.attempts;
  const source = useMemo<LogSource>(
    () => ({
      isKept: !isLive,
      isTimed: false,
      open: ({ timestamps: _none, ...settings }) =>
        followedEntries(
          api.frames('GET /api/v1/jobs/{name}/logs', {
            ...settings,
            params: { name: job },
            query: { follow: true, tail: TAIL, run: run.id, attempt: shown },
          }),
          false,
        ),
    }),
    [api, job, run.id, shown, isLive],
  );
  return (
    <LogView
      // What ended is refetched: while it ran, the last lines may have been missed.
      key={`${run.id}/${shown}/${isLive ? 'live' : 'kept'}`}
      label={`Log of ${job}`}
      fileName={`${job}-${run.id.slice(-8)}-${shown}`}
      source={source}
      choices={
        run.attempts < 2 ? undefined : (
          <label>
            <span className="sr-only">Attempt</span>
            <select
              value={shown}
              onChange={(event) => setAttempt(Number(event.target.value))}
              className="h-9 rounded-md border border-line-strong bg-surface px-2"
            >
              {Array.from({ length: run.attempts }, (_, at) => (
                <option key={at} value={at + 1}>
                  Attempt {at + 1}
                </option>
              ))}
            </select>
          </label>
        )
      }
    />
  );
}

function Detail({ job }: { readonly job: Job }) {
  const chosen = useAddress().text('run');
  const navigate = useNavigate();
  const { runs, nextRunAt } = job.status;
  const shown = runs.find(({ id }) => id === chosen) ?? runs[0];
  return (
    <>
      <div className="grid items-start gap-5 lg:grid-cols-[1fr_2fr]">
        <Panel title="Job">
          <Facts
            facts={[
              [
                'Image',
                <code key="image" className="font-mono">
                  {job.image}
                </code>,
              ],
              [
                'Command',
                job.command === undefined ? undefined : (
                  <code key="command" className="font-mono">
                    {job.command.join(' ')}
                  </code>
                ),
              ],
              ['Schedule', job.schedule === undefined ? 'once, when created' : `${job.schedule} (UTC)`],
              ['Next run', nextRunAt === null ? undefined : dateTime(nextRunAt)],
              ['Timeout', job.timeout ?? 'none'],
              ['Retries', String(job.retries ?? 0)],
              ['Bounded by', boundsText(job.containerDefaults)],
              ['Labels', <Labels key="labels" labels={job.labels ?? {}} />],
              ['Created', <TimeAgo key="made" time={job.createdAt} />],
            ]}
          />
        </Panel>
        <Panel flush title="Runs" note="The newest 20">
          {runs.length === 0 ? (
            <EmptyState title="It has not run yet" icon="clock" />
          ) : (
            <ul aria-label="Runs">
              {runs.map((run) => (
                <RunRow
                  key={run.id}
                  run={run}
                  isShown={run.id === shown?.id}
                  onShow={() =>
                    void navigate({ to: `/jobs/${job.name}`, search: { run: run.id }, replace: true })
                  }
                />
              ))}
            </ul>
          )}
        </Panel>
      </div>
      {shown === undefined || shown.attempts === 0 ? null : <RunLog job={job.name} run={shown} />}
    </>
  );
}

export function JobPage() {
  const name = useParam('name');
  const { data: job, error } = useJob(name);
  const back = { to: '/jobs', title: 'Jobs' };
  if (job === undefined) return <PendingPage title={name} back={back} error={error} />;
  return (
    <Page
      title={name}
      back={back}
      beside={<RunBadge state={job.status.phase} />}
      note={reasonFirst(job.status.message)}
      actions={<Actions job={job} />}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      <Detail job={job} />
    </Page>
  );
}
