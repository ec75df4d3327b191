import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useSession } from '../../app/session.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/page.tsx';
import { whoMay } from '../../lib/who-may.ts';
import type { Step } from './steps.ts';

const EnrolDialog = lazy(async () => ({ default: (await import('../nodes/enrol-dialog.tsx')).EnrolDialog }));

function StepLine({
  step,
  at,
  isNext,
  action,
}: {
  readonly step: Step;
  readonly at: number;
  /** The first that is not done. */
  readonly isNext: boolean;
  readonly action: ReactNode;
}) {
  const { can } = useSession();
  const { title, text, isDone, command, permission } = step;
  const look = isDone
    ? 'bg-ok-soft text-ok'
    : isNext
      ? 'bg-accent text-on-accent'
      : 'border border-line-strong text-muted';
  return (
    <li
      aria-current={isNext ? 'step' : undefined}
      className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-3 border-b px-4 py-4 last:border-b-0 md:grid-cols-[auto_1fr_minmax(0,22rem)_10.5rem] md:items-center"
    >
      <span
        className={`grid size-7 place-items-center self-start rounded-full text-xs font-semibold md:self-center ${look}`}
      >
        {isDone ? <Icon name="check" className="size-4" /> : at}
      </span>
      <div>
        <h3 className="font-medium">
          {title}
          <span className="sr-only">{isDone ? ' (done)' : ''}</span>
        </h3>
        <p className="text-muted">{text}</p>
        {!isDone && !can(permission) ? <p className="mt-1 text-xs text-warn">{whoMay(permission)}</p> : null}
      </div>
      {can(permission) ? (
        <>
          <div className="col-start-2 md:col-start-auto">
            <CopyLine label={`Command: ${title}`} text={command} />
          </div>
          <div className="col-start-2 md:col-start-auto md:justify-self-end">{action}</div>
        </>
      ) : null}
    </li>
  );
}

/** The way from an empty tenant to something that runs; each step is ticked off when it has happened, whoever did it. */
export function FirstSteps({
  steps,
  seen,
  onClose,
}: {
  readonly steps: readonly Step[];
  /** The page of what was deployed first. */
  readonly seen: string | undefined;
  readonly onClose: () => void;
}) {
  const [isEnrolling, setEnrolling] = useState(false);
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone);
  const tone = (step: Step) => (step === next ? 'primary' : 'plain');
  const action = (step: Step): ReactNode => {
    if (step.id === 'enrol')
      return (
        <Button icon="plus" tone={tone(step)} onClick={() => setEnrolling(true)}>
          {step.isDone ? 'Enrol another' : 'Enrol a node'}
        </Button>
      );
    if (step.id === 'deploy')
      return (
        <ButtonLink icon="plus" tone={tone(step)} to="/deployments/new">
          New deployment
        </ButtonLink>
      );
    return seen === undefined ? null : (
      <ButtonLink icon="layers" tone={tone(step)} to={seen}>
        Open it
      </ButtonLink>
    );
  };
  return (
    <>
      <Panel
        flush
        title={next === undefined ? 'Everything is set up' : 'First steps'}
        note={
          <span role="status">
            {done} of {steps.length} done
          </span>
        }
        actions={
          next === undefined ? (
            <Button small onClick={onClose}>
              Close
            </Button>
          ) : undefined
        }
      >
        <ol>
          {steps.map((step, at) => (
            <StepLine key={step.id} step={step} at={at + 1} isNext={step === next} action={action(step)} />
          ))}
        </ol>
      </Panel>
      {isEnrolling ? (
        <Suspense>
          <EnrolDialog onClose={() => setEnrolling(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
