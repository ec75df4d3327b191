import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { FormRejection, TextAreaField, TextField, UnclaimedRejection } from '../../components/field.tsx';
import { MapEditor } from '../../components/map-editor.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { useToast } from '../../components/toast.tsx';
import { YamlEditor } from '../../components/yaml-editor.tsx';
import { type Draft, listOrNothing, numberOrText, textAt, valueAt, withValue } from '../../lib/draft.ts';
import { type BodyFor, type RejectionRecord, rejectionOf, unjudged } from '../../../sdk/index.ts';
import { readYaml, writeYaml, type YamlProblem } from '../../lib/yaml-text.ts';

const FRESH: Draft = { kind: 'Job', name: '', image: '' };
const PATHS = ['name', 'image', 'command', 'schedule', 'timeout', 'retries', 'environment'];

function JobForm({ draft, onChange }: { readonly draft: Draft; readonly onChange: (draft: Draft) => void }) {
  const set = (path: string) => (value: unknown) => onChange(withValue(draft, path, value));
  const [command, setCommand] = useState(() => {
    const given = valueAt(draft, 'command');
    return Array.isArray(given) ? given.join('\n') : '';
  });
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          path="name"
          label="Name"
          placeholder="nightly-report"
          value={textAt(draft, 'name')}
          onChange={set('name')}
        />
        <TextField
          mono
          path="image"
          label="Image"
          placeholder="registry.internal:5000/shop/report:2.1.0"
          value={textAt(draft, 'image')}
          onChange={set('image')}
        />
        <TextField
          mono
          path="schedule"
          label="Schedule"
          hint="Cron, UTC. Empty: it runs once, when it is created."
          placeholder="0 3 * * *"
          value={textAt(draft, 'schedule')}
          onChange={set('schedule')}
        />
        <div className="grid grid-cols-2 gap-4">
          <TextField
            path="timeout"
            label="Timeout"
            hint="Of one attempt; empty: none."
            placeholder="30m"
            value={textAt(draft, 'timeout')}
            onChange={set('timeout')}
          />
          <TextField
            path="retries"
            label="Retries"
            hint="Attempts after the first."
            inputMode="numeric"
            value={textAt(draft, 'retries')}
            onChange={(text) => set('retries')(numberOrText(text))}
          />
        </div>
      </div>
      <TextAreaField
        path="command"
        label="Command"
        hint="One argument a line. Empty: that of the image."
        value={command}
        onChange={(text) => {
          setCommand(text);
          set('command')(listOrNothing(text, '\n'));
        }}
      />
      <MapEditor
        path="environment"
        label="Environment"
        value={valueAt(draft, 'environment')}
        onChange={set('environment')}
      />
      <p className="text-xs text-muted">
        Secrets, volumes, placement and resources are written as YAML; they follow the rules of deployments.
      </p>
    </div>
  );
}

export function NewJobPage() {
  const api = useApi();
  const navigate = useNavigate();
  const reread = useReread();
  const { done } = useToast();
  const [mode, setMode] = useState<'form' | 'yaml'>('form');
  const [draft, setDraft] = useState<Draft>(FRESH);
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<YamlProblem>();
  const [rejections, setRejections] = useState<readonly RejectionRecord[]>([]);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const switchMode = () => {
    if (mode === 'form') {
      setText(writeYaml(draft));
      setMode('yaml');
      return;
    }
    const read = readYaml(text);
    if ('problem' in read) setProblem(read.problem);
    else {
      setDraft(read.draft);
      setProblem(undefined);
      setMode('form');
    }
  };
  const create = async () => {
    const read = mode === 'form' ? { draft } : readYaml(text);
    if ('problem' in read) {
      setProblem(read.problem);
      return;
    }
    setBusy(true);
    setRejections([]);
    setError(undefined);
    try {
      const asked = { body: unjudged<BodyFor<'POST /api/v1/jobs'>>(read.draft) };
      // What is wrong is said all at once.
      const wrong = await api.rejections('POST /api/v1/jobs', asked);
      if (wrong.length > 0) {
        setRejections(wrong);
        return;
      }
      const made = await api.call('POST /api/v1/jobs', asked);
      done(`Job ${made.name} is created.`);
      await reread('jobs');
      await navigate({ to: `/jobs/${made.name}` });
    } catch (failure) {
      const refused = rejectionOf(failure);
      if (refused === undefined) setError(failure);
      else setRejections([refused]);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Page
      title="New job"
      back={{ to: '/jobs', title: 'Jobs' }}
      actions={<Button onClick={switchMode}>{mode === 'form' ? 'Write as YAML' : 'Back to the form'}</Button>}
    >
      <FormRejection rejection={rejections}>
        {mode === 'form' ? (
          <>
            <UnclaimedRejection paths={PATHS} />
            <Panel>
              <JobForm draft={draft} onChange={setDraft} />
            </Panel>
          </>
        ) : (
          <YamlEditor
            text={text}
            onChange={(next) => {
              setText(next);
              setProblem(undefined);
            }}
            problem={problem}
            rejection={rejections}
          />
        )}
      </FormRejection>
      {error === undefined ? null : <ErrorNotice error={error} />}
      <div>
        <Button tone="primary" busy={isBusy} onClick={() => void create()}>
          Create
        </Button>
      </div>
    </Page>
  );
}
