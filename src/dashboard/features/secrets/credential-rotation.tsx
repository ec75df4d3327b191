import { useState } from 'react';
import type { RotationPhase } from '../../../core/model/deployment.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Panel } from '../../components/page.tsx';
import { Rotation, RotationNote } from '../../components/rotation.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { RunBadge } from '../../components/run-badge.tsx';
import { useToast } from '../../components/toast.tsx';
import { hookEntries, phaseAccepted, retryPhase, rotationSentence } from './credential-state.ts';
import type { HookRun, Secret } from './secret-queries.ts';

type Advance = (phase: RotationPhase, retryHook?: true) => Promise<void>;

function useAdvance(secret: Secret): Advance {
  const api = useApi();
  const reread = useReread();
  const { done } = useToast();
  return async (phase, retryHook) => {
    const { hook, consumers } = await api.call('POST /api/v1/secrets/{namespace}/{name}/rotate', {
      params: { namespace: secret.namespace, name: secret.name },
      body: { phase, ...(retryHook && { retryHook }) },
    });
    done(
      hook === undefined
        ? `${secret.path}: ${phase} is accepted for ${consumers.map(({ deployment }) => deployment).join(', ') || 'no deployment'}.`
        : `${secret.path}: ${phase} waits for the job ${hook.job} of the hook ${hook.hook}.`,
    );
    await reread('secrets', 'deployments', 'jobs');
  };
}

/** The jobs that make the new values valid and take the old ones away, with their runs in this rotation. */
function Hooks({ secret, onRetry }: { readonly secret: Secret; readonly onRetry: Advance }) {
  const { can } = useSession();
  const [again, setAgain] = useState<HookRun>();
  const [isAsking, setOpen] = useState(false);
  const entries = hookEntries(secret);
  if (entries.length === 0) return null;
  return (
    <Panel flush title="Hooks" note="Jobs that a phase waits for; asked for again, it goes on from there.">
      <ul aria-label="Hooks">
        {entries.map(({ hook, job, run }) => (
          <li
            key={`${hook}/${run?.swapped === true ? 'back' : 'on'}`}
            data-hook={hook}
            className="flex flex-wrap items-center gap-x-6 gap-y-1 border-b px-4 py-2.5 last:border-b-0"
          >
            <code className="w-20 font-mono text-xs font-medium">{hook}</code>
            <RowLink to={`/jobs/${job}`}>{job}</RowLink>
            <span className="min-w-0 flex-1 text-xs text-muted">
              {run === undefined
                ? 'not asked for in this rotation'
                : `${run.swapped === true ? 'on the way back: ' : ''}${run.message}`}
            </span>
            {run === undefined ? null : <RunBadge state={run.state} />}
            {run !== undefined && retryPhase(secret, run) !== undefined && can('secrets.write') ? (
              <Button
                small
                aria-label={`Run ${job} again`}
                onClick={() => {
                  setAgain(run);
                  setOpen(true);
                }}
              >
                Run again
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
      <Confirm
        title={`Run the hook ${again?.hook ?? ''} again`}
        action="Run again"
        isOpen={isAsking}
        onClose={() => setOpen(false)}
        onConfirm={async () => {
          const phase = again && retryPhase(secret, again);
          if (phase !== undefined) await onRetry(phase, true);
        }}
      >
        <p>
          The job <strong>{again?.job}</strong> runs once more with the same versions of the credential. Mend
          the cause first.
        </p>
      </Confirm>
    </Panel>
  );
}

/** The rotation of a whole credential: every deployment that reads it goes through a phase together, or none. */
export function CredentialRotationPanel({ secret }: { readonly secret: Secret }) {
  const { can } = useSession();
  const advance = useAdvance(secret);
  const { rotation, nextPhase } = secret;
  const state = rotationSentence(secret);
  return (
    <>
      <Rotation
        note="Of the whole credential: every deployment that reads it takes a phase together, or none does."
        phase={phaseAccepted(secret)}
        next={nextPhase}
        prefix="NAME"
        whom="Every instance of every deployment that reads it is recreated, one after the other."
        isOffered={can('secrets.write')}
        hasWayBack={rotation !== undefined && rotation.phase !== 'retiring'}
        onAdvance={(phase) => advance(phase)}
      >
        <RotationNote isComplete={state.isCalm}>{state.text}</RotationNote>
      </Rotation>
      <Hooks secret={secret} onRetry={advance} />
    </>
  );
}
