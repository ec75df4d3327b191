import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useBlocker, useLocation, useNavigate } from '@tanstack/react-router';
import { type RejectionRecord, rejectionOf } from '../../sdk/index.ts';
import { useSession } from '../app/session.tsx';
import type { Draft } from '../lib/draft.ts';
import { type KeptDraft, keepDraft, takeDraft } from '../lib/kept-drafts.ts';
import { readYaml, writeYaml, type YamlProblem } from '../lib/yaml-text.ts';
import { Button } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { FormRejection, UnclaimedRejection } from './field.tsx';
import { Page, Panel } from './page.tsx';
import { type Planned, PlanView } from './plan-view.tsx';
import { YamlEditor } from './yaml-editor.tsx';

type Editing = KeptDraft['editing'];

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

/** What is edited is what was there when the editing began; a concurrent change is refused on saving. */
export interface Edited {
  readonly key: string;
  readonly start: Draft;
  readonly revision: number | undefined;
  /** What had been entered when the session ended. */
  readonly restored: Editing | undefined;
}

/** A description as it is stored now, or as it was being edited when the session ended. */
export function useEdited(read: () => Pick<Edited, 'start' | 'revision'>): Edited {
  const { tenant, view } = useSession();
  const { pathname } = useLocation();
  const [edited] = useState(() => {
    const key = `${tenant.id} ${view.role} ${pathname}`;
    const kept = takeDraft(key);
    return kept === undefined
      ? { key, ...read(), restored: undefined }
      : { key, start: kept.start, revision: kept.revision, restored: kept.editing };
  });
  return edited;
}

/** What is wrong with a description, all at once, or what storing it would do. */
export type Checked = { readonly wrong: readonly RejectionRecord[] } | { readonly plan: Planned };

/** A description by form or YAML: checked, with a plan of what storing it would do, then stored. */
export function RecordEditor({
  title,
  back,
  edited,
  isNew,
  paths,
  planNote,
  form,
  onCheck,
  onSave,
}: {
  readonly title: string;
  readonly back: { readonly to: string; readonly title: string };
  readonly edited: Edited;
  readonly isNew: boolean;
  /** Fields of the form; a rejection of any other is shown above it. */
  readonly paths: readonly string[];
  /** What a plan will tell. */
  readonly planNote: string;
  readonly form: (draft: Draft, onChange: (draft: Draft) => void) => ReactNode;
  readonly onCheck: (draft: Draft) => Promise<Checked>;
  /** Answers with the page to go to. */
  readonly onSave: (draft: Draft) => Promise<string>;
}) {
  const navigate = useNavigate();
  const { start, revision, restored } = edited;
  const [editing, setEditing] = useState<Editing>(restored ?? { mode: 'form', draft: start, text: '' });
  const [plan, setPlan] = useState<Planned>();
  const [isConfirmed, setConfirmed] = useState(false);
  const [problem, setProblem] = useState<YamlProblem>();
  const [rejections, setRejections] = useState<readonly RejectionRecord[]>([]);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  const isDirty = useRef(restored !== undefined);
  const latest = useRef(editing);
  useEffect(() => {
    latest.current = editing;
  });
  useEffect(
    () => () => {
      if (isDirty.current) keepDraft(edited.key, { start, revision, editing: latest.current });
    },
    [edited.key, start, revision],
  );
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

  const check = async (draft: Draft) => {
    const checked = await onCheck(draft);
    if ('plan' in checked) {
      setPlan(checked.plan);
      return;
    }
    setPlan(undefined);
    setRejections(checked.wrong);
  };
  const save = async (draft: Draft) => {
    const to = await onSave(draft);
    isDirty.current = false;
    await navigate({ to });
  };
  const send = async (act: (draft: Draft) => Promise<void>) => {
    const read = editing.mode === 'form' ? { draft: editing.draft } : readYaml(editing.text);
    if ('problem' in read) {
      setProblem(read.problem);
      return;
    }
    setBusy(true);
    setRejections([]);
    setError(undefined);
    try {
      await act(read.draft);
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
    <Page title={title} back={back} actions={<ModeSwitch mode={editing.mode} onChoose={choose} />}>
      <LeaveGuard isDirty={() => isDirty.current} />
      {restored === undefined ? null : (
        <p role="status" className="rounded-md border bg-info-soft px-3 py-2 text-info">
          What you had entered when your session ended is back. Nothing of it is stored yet.
        </p>
      )}
      <FormRejection rejection={rejections}>
        <div className="grid items-start gap-5 xl:grid-cols-[3fr_2fr]">
          <div className="flex min-w-0 flex-col gap-4">
            {editing.mode === 'form' ? (
              <>
                <UnclaimedRejection paths={paths} />
                {form(editing.draft, (draft) => edit({ draft }))}
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
            {/* Above what comes and goes: a button stays where it was pressed. */}
            <div className="flex gap-2">
              <Button
                tone={plan === undefined ? 'primary' : 'plain'}
                busy={isBusy}
                onClick={() => void send(check)}
              >
                Check
              </Button>
              <Button
                tone="primary"
                busy={isBusy}
                disabled={plan === undefined || needsConfirm}
                onClick={() => void send(save)}
              >
                {isNew ? 'Create' : 'Save'}
              </Button>
            </div>
            {error === undefined ? null : <ErrorNotice error={error} />}
            <RemovedConfirm removed={plan?.removed ?? []} isConfirmed={isConfirmed} onChange={setConfirmed} />
            <Panel title="Plan" note="What saving would do; nothing is stored yet">
              {plan === undefined ? (
                <p className="text-muted">
                  {rejections.length === 0
                    ? planNote
                    : `Refused: ${rejections[0]?.why ?? ''} Correct ${rejections.map(({ field }) => field).join(', ')} and check again.`}
                </p>
              ) : (
                <PlanView written={plan} />
              )}
            </Panel>
          </div>
        </div>
      </FormRejection>
    </Page>
  );
}
