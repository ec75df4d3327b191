import { useState } from 'react';
import { useParam } from '../../app/address.ts';
import { useApi } from '../../app/session.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import { type Checked, RecordEditor, useEdited } from '../../components/record-editor.tsx';
import { useToast } from '../../components/toast.tsx';
import { type Draft, draftOf, updateBody } from '../../lib/draft.ts';
import type { Deployment } from '../../lib/records.ts';
import { type BodyFor, unjudged } from '../../../sdk/index.ts';
import { DeploymentForm, FORM_PATHS } from './deployment-form.tsx';
import { useDeployment, useDeploymentWritten } from './deployment-queries.ts';

const FRESH: Draft = { kind: 'Deployment', name: '', image: '', replicas: 1 };

function Editor({ stored }: { readonly stored: Deployment | undefined }) {
  const api = useApi();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const [name] = useState(stored?.name);
  const edited = useEdited(() => ({
    start: stored === undefined ? FRESH : draftOf(stored),
    revision: stored?.revision,
  }));
  const { start, revision } = edited;
  const asked = (draft: Draft, dryRun: true | undefined) => {
    const body = name === undefined ? draft : updateBody(start, draft);
    const said = { body: unjudged<BodyFor<'POST /api/v1/deployments'>>(body), query: { dryRun } };
    return { said, update: { ...said, params: { name: name ?? '' }, ifMatch: revision } };
  };
  const send = (draft: Draft, dryRun: true | undefined) => {
    const { said, update } = asked(draft, dryRun);
    return name === undefined
      ? api.call('POST /api/v1/deployments', said)
      : api.call('PUT /api/v1/deployments/{name}', update);
  };
  const check = async (draft: Draft): Promise<Checked> => {
    const { said, update } = asked(draft, true);
    // What is wrong is said all at once; a description without a mistake has its plan with the second question.
    const wrong =
      name === undefined
        ? await api.rejections('POST /api/v1/deployments', said)
        : await api.rejections('PUT /api/v1/deployments/{name}', update);
    return wrong.length > 0 ? { wrong } : { plan: await send(draft, true) };
  };
  const save = async (draft: Draft) => {
    const answer = await send(draft, undefined);
    done(name === undefined ? `${answer.name} is created.` : `${answer.name} is saved.`);
    await written(answer.name);
    return `/deployments/${answer.name}`;
  };
  return (
    <RecordEditor
      title={name === undefined ? 'New deployment' : `Edit ${name}`}
      back={
        name === undefined
          ? { to: '/deployments', title: 'Deployments' }
          : { to: `/deployments/${name}`, title: name }
      }
      edited={edited}
      isNew={name === undefined}
      paths={FORM_PATHS}
      planNote="Check the description to see what would change, and which node each instance would go to and why."
      form={(draft, onChange) => (
        <DeploymentForm isNew={name === undefined} draft={draft} onChange={onChange} />
      )}
      onCheck={check}
      onSave={save}
    />
  );
}

export function NewDeploymentPage() {
  return <Editor stored={undefined} />;
}

export function EditDeploymentPage() {
  const name = useParam('name');
  const { data, error } = useDeployment(name);
  if (data === undefined) return <PendingPage title={`Edit ${name}`} error={error} />;
  return <Editor key={name} stored={data} />;
}
