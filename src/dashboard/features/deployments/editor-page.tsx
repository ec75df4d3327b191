import { useRef, useState } from 'react';
import { useBlocker, useNavigate } from '@tanstack/react-router';
import { useParam } from '../../app/address.ts';
import { useApi } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { FormRejection, UnclaimedRejection } from '../../components/field.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { useToast } from '../../components/toast.tsx';
import type { Deployment, DeploymentWritten } from '../../lib/records.ts';
import { type RejectionRecord, rejectionOf, type BodyFor, unjudged } from '../../../sdk/index.ts';
import { DeploymentForm, FORM_PATHS } from './deployment-form.tsx';
import { useDeployment, useDeploymentWritten } from './deployment-queries.ts';
import { type Draft, draftOf, updateBody } from '../../lib/draft.ts';
import { PlanView } from '../../components/plan-view.tsx';
import { YamlEditor } from '../../components/yaml-editor.tsx';
import { readYaml, type YamlProblem, writeYaml } from '../../lib/yaml-text.ts';

const FRESH: Draft = { kind: 'Deployment', name: '', image: '', replicas: 1 };

interface Editing {
  readonly mode: 'form' | 'yaml';
  readonly draft: Draft;
  readonly text: string;
}

function ModeSwitch({
  mode,
  onChoose,
}: {
  readonly mode: Editing['mode'];
  readonly onChoose: (mode: Editing['mode']) => void;
}) {
  return (
    <div role="group" aria-label="Edit as" className="inline-flex rounded-md border bg-sunken p-0.5">
      {(['form', 'yaml'] as const).map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={mode === one}
          onClick={() => onChoose(one)}
          className="rounded px-3 py-1 text-xs font-medium text-muted aria-pressed:bg-surface aria-pressed:text-ink aria-pressed:shadow-card"
        >
          {one === 'form' ? 'Form' : 'YAML'}
        </button>
      ))}
    </div>
  );
}

/** What was entered is not lost by a wrong click. */
function LeaveGuard({ isDirty }: { readonly isDirty: () => boolean }) {
  const blocker = useBlocker({ shouldBlockFn: isDirty, enableBeforeUnload: isDirty, withResolver: true });
  return (
    <Confirm
      danger
      title="Leave without saving?"
      action="Leave"
      isOpen={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      onConfirm={async () => blocker.proceed?.()}
    >
      <p>What you changed has not been stored.</p>
    </Confirm>
  );
}

/** Lost entries are confirmed one by one in sight: a shortened list takes a credential away without failing anything. */
function RemovedConfirm({
  removed,
  isConfirmed,
  onChange,
}: {
  readonly removed: readonly string[];
  readonly isConfirmed: boolean;
  readonly onChange: (isConfirmed: boolean) => void;
}) {
  if (removed.length === 0) return null;
  return (
    <label className="flex items-start gap-2 rounded-md border border-bad/35 bg-bad-soft px-3 py-2">
      <input
        type="checkbox"
        checked={isConfirmed}
        onChange={(event) => onChange(event.target.checked)}
        className="mt-1 accent-(--bad)"
      />
      <span>
        Remove <code className="font-mono text-xs">{removed.join(', ')}</code>
      </span>
    </label>
  );
}

function Editor({ stored }: { readonly stored: Deployment | undefined }) {
  const api = useApi();
  const navigate = useNavigate();
  const written = useDeploymentWritten();
  const { done } = useToast();
  // What is edited is what was there when the editing began; a concurrent change is refused on saving.
  const [start] = useState(() => ({
    draft: stored === undefined ? FRESH : draftOf(stored),
    revision: stored?.revision,
    name: stored?.name,
  }));
  const [editing, setEditing] = useState<Editing>({ mode: 'form', draft: start.draft, text: '' });
  const [plan, setPlan] = useState<DeploymentWritten>();
  const [isConfirmed, setConfirmed] = useState(false);
  const [problem, setProblem] = useState<YamlProblem>();
  const [rejections, setRejections] = useState<readonly RejectionRecord[]>([]);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const isNew = start.name === undefined;

  const isDirty = useRef(false);
  const edit = (next: Partial<Editing>) => {
    isDirty.current = true;
    setEditing({ ...editing, ...next });
    setPlan(undefined);
    setConfirmed(false);
    setProblem(undefined);
  };
  const choose = (mode: Editing['mode']) => {
    if (mode === editing.mode) return;
    if (mode === 'yaml') {
      edit({ mode, text: writeYaml(editing.draft) });
      return;
    }
    const read = readYaml(editing.text);
    if ('problem' in read) setProblem(read.problem);
    else edit({ mode, draft: read.draft });
  };

  const send = async (dryRun: boolean) => {
    const read = editing.mode === 'form' ? { draft: editing.draft } : readYaml(editing.text);
    if ('problem' in read) {
      setProblem(read.problem);
      return;
    }
    setBusy(true);
    setRejections([]);
    setError(undefined);
    try {
      const body = isNew ? read.draft : updateBody(start.draft, read.draft);
      const said = {
        body: unjudged<BodyFor<'POST /api/v1/deployments'>>(body),
        query: { dryRun: dryRun || undefined },
      };
      const update = { ...said, params: { name: start.name ?? '' }, ifMatch: start.revision };
      // What is wrong is said all at once; a description without a mistake has its plan with the second question.
      const wrong = !dryRun
        ? []
        : isNew
          ? await api.rejections('POST /api/v1/deployments', said)
          : await api.rejections('PUT /api/v1/deployments/{name}', update);
      if (wrong.length > 0) {
        setPlan(undefined);
        setRejections(wrong);
        return;
      }
      const answer = isNew
        ? await api.call('POST /api/v1/deployments', said)
        : await api.call('PUT /api/v1/deployments/{name}', update);
      if (dryRun) setPlan(answer);
      else {
        done(isNew ? `${answer.name} is created.` : `${answer.name} is saved.`);
        isDirty.current = false;
        await written(answer.name);
        await navigate({ to: `/deployments/${answer.name}` });
      }
    } catch (failure) {
      const refused = rejectionOf(failure);
      setPlan(undefined);
      if (refused === undefined) setError(failure);
      else setRejections([refused]);
    } finally {
      setBusy(false);
    }
  };
  const needsConfirm = (plan?.removed.length ?? 0) > 0 && !isConfirmed;
  return (
    <Page
      title={isNew ? 'New deployment' : `Edit ${start.name}`}
      back={
        isNew
          ? { to: '/deployments', title: 'Deployments' }
          : { to: `/deployments/${start.name}`, title: start.name ?? '' }
      }
      actions={<ModeSwitch mode={editing.mode} onChoose={choose} />}
    >
      <LeaveGuard isDirty={() => isDirty.current} />
      <FormRejection rejection={rejections}>
        <div className="grid items-start gap-5 xl:grid-cols-[3fr_2fr]">
          <div className="flex min-w-0 flex-col gap-4">
            {editing.mode === 'form' ? (
              <>
                <UnclaimedRejection paths={FORM_PATHS} />
                <DeploymentForm isNew={isNew} draft={editing.draft} onChange={(draft) => edit({ draft })} />
              </>
            ) : (
              <YamlEditor
                text={editing.text}
                onChange={(text) => edit({ text })}
                problem={problem}
                rejection={rejections}
              />
            )}
          </div>
          <div className="flex flex-col gap-4 xl:sticky xl:top-5">
            <Panel title="Plan" note="What saving would do; nothing is stored yet">
              {plan === undefined ? (
                <p className="text-muted">
                  {rejections.length === 0
                    ? 'Check the description to see what would change, and which node each instance would go to and why.'
                    : `Refused: ${rejections[0]?.why ?? ''} Correct ${rejections.map(({ field }) => field).join(', ')} and check again.`}
                </p>
              ) : (
                <PlanView written={plan} />
              )}
            </Panel>
            {error === undefined ? null : <ErrorNotice error={error} />}
            <RemovedConfirm removed={plan?.removed ?? []} isConfirmed={isConfirmed} onChange={setConfirmed} />
            <div className="flex gap-2">
              <Button
                tone={plan === undefined ? 'primary' : 'plain'}
                busy={isBusy}
                onClick={() => void send(true)}
              >
                Check
              </Button>
              <Button
                tone="primary"
                busy={isBusy}
                disabled={plan === undefined || needsConfirm}
                onClick={() => void send(false)}
              >
                {isNew ? 'Create' : 'Save'}
              </Button>
            </div>
          </div>
        </div>
      </FormRejection>
    </Page>
  );
}

export function NewDeploymentPage() {
  return <Editor stored={undefined} />;
}

export function EditDeploymentPage() {
  const name = useParam('name');
  const { data, error } = useDeployment(name);
  if (data === undefined)
    return (
      <Page title={`Edit ${name}`}>
        {error === null ? <Loading lines={6} /> : <ErrorNotice error={error} />}
      </Page>
    );
  return <Editor key={name} stored={data} />;
}
