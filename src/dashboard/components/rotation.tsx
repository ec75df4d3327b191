import { type ReactNode, useState } from 'react';
import type { RotationPhase } from '../../core/model/deployment.ts';
import {
  ABORT_MEANING,
  type CredentialState,
  PHASE_VERB,
  ROTATION_STEPS,
  type RotationStep,
} from '../lib/rotation-steps.ts';
import { Badge, type Tone } from './badge.tsx';
import { Button } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { Icon } from './icon.tsx';
import { Panel } from './page.tsx';

const TONES: Readonly<Record<CredentialState, Tone>> = {
  'in use': 'ok',
  valid: 'info',
  'not yet': 'none',
  'may be revoked': 'none',
};

function Credential({
  title,
  prefix,
  state,
  variable,
}: { readonly title: string; readonly prefix: string } & RotationStep['old']) {
  return (
    <div className="flex flex-col gap-0.5">
      <span className="flex items-center justify-between gap-2">
        <span className="text-xs text-muted">{title}</span>
        <Badge tone={TONES[state]}>{state}</Badge>
      </span>
      <code className="font-mono text-2xs text-muted">
        {variable === undefined ? 'not delivered' : variable.replace('NAME', prefix)}
      </code>
    </div>
  );
}

function Step({
  step,
  at,
  now,
  prefix,
}: {
  readonly step: RotationStep;
  readonly at: number;
  readonly now: number;
  readonly prefix: string;
}) {
  const isNow = at === now;
  return (
    <li
      aria-current={isNow ? 'step' : undefined}
      data-phase={step.phase ?? 'steady'}
      className={`flex flex-col gap-3 rounded-lg border p-3.5 ${isNow ? 'border-accent bg-accent-soft/40' : 'bg-surface'}`}
    >
      <div className="flex items-center gap-2">
        <span
          className={`grid size-6 place-items-center rounded-full text-xs font-semibold ${isNow ? 'bg-accent text-on-accent' : 'bg-sunken text-muted'}`}
        >
          {at < now ? <Icon name="check" className="size-3.5" /> : at + 1}
        </span>
        <h3 className="font-medium">{step.title}</h3>
      </div>
      <p className="text-xs text-muted">{step.meaning}</p>
      <div className="mt-auto flex flex-col gap-2 border-t pt-2.5">
        <Credential title="Old" prefix={prefix} {...step.old} />
        <Credential title="New" prefix={prefix} {...step.fresh} />
      </div>
    </li>
  );
}

/** Whether everybody is where the phase wants them, in a sentence. */
export function RotationNote({
  isComplete,
  children,
}: {
  readonly isComplete: boolean;
  readonly children: ReactNode;
}) {
  return (
    <p role="status" className={`mt-4 flex items-center gap-2 ${isComplete ? 'text-ok' : 'text-warn'}`}>
      <Icon name={isComplete ? 'check' : 'clock'} />
      {children}
    </p>
  );
}

/** The phases of a rotation, of a deployment or of a whole credential, and the way on and back. */
export function Rotation({
  note,
  phase,
  next,
  prefix,
  whom,
  isOffered,
  hasWayBack = next !== 'stage',
  choice,
  onAdvance,
  children,
}: {
  readonly note: string;
  /** The last that was accepted. */
  readonly phase: RotationPhase | null;
  readonly next: RotationPhase;
  /** Of the variables. */
  readonly prefix: string;
  /** Who is recreated by a phase. */
  readonly whom: ReactNode;
  readonly isOffered: boolean;
  readonly hasWayBack?: boolean;
  /** Beside the buttons. */
  readonly choice?: ReactNode;
  readonly onAdvance: (phase: RotationPhase) => Promise<void>;
  readonly children: ReactNode;
}) {
  const [asking, setAsking] = useState<RotationPhase>();
  const [isAsking, setOpen] = useState(false);
  const now = Math.max(
    0,
    ROTATION_STEPS.findIndex((step) => step.phase === phase),
  );
  const asked = asking ?? next;
  const ask = (wanted: RotationPhase) => {
    setAsking(wanted);
    setOpen(true);
  };
  return (
    <>
      <Panel
        title="Rotation"
        note={note}
        actions={
          isOffered ? (
            <>
              {choice}
              {hasWayBack ? <Button onClick={() => ask('abort')}>{PHASE_VERB.abort}</Button> : null}
              <Button tone="primary" onClick={() => ask(next)}>
                {PHASE_VERB[next]}
              </Button>
            </>
          ) : undefined
        }
      >
        <ol className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
          {ROTATION_STEPS.map((step, at) => (
            <Step key={step.title} step={step} at={at} now={now} prefix={prefix} />
          ))}
        </ol>
        {children}
      </Panel>
      <Confirm
        title={PHASE_VERB[asked]}
        action={asked[0]?.toUpperCase() + asked.slice(1)}
        danger={asked === 'retire'}
        isOpen={isAsking}
        onClose={() => setOpen(false)}
        onConfirm={() => onAdvance(asked)}
      >
        <p>
          {asked === 'abort' ? ABORT_MEANING : ROTATION_STEPS.find((step) => step.phase === asked)?.meaning}{' '}
          {whom}
        </p>
        {asked === 'retire' ? (
          <p className="text-muted">
            Before you go on: does everything that uses the old credential have the new one?
          </p>
        ) : null}
      </Confirm>
    </>
  );
}
