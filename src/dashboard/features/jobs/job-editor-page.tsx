import { useState } from 'react';
import { useParam } from '../../app/address.ts';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { PendingPage } from '../../components/pending-page.tsx';
import { type Checked, RecordEditor, useEdited } from '../../components/record-editor.tsx';
import { useToast } from '../../components/toast.tsx';
import { type Draft, draftOf, updateBody } from '../../lib/draft.ts';
import type { Job } from '../../lib/records.ts';
import { type BodyFor, unjudged } from '../../../sdk/index.ts';
import { JOB_PATHS, JobForm } from './job-form.tsx';
import { useJob } from './job-queries.ts';

const FRESH: Draft = { kind: 'Job', name: '', image: '' };

function Editor({ stored }: { readonly stored?: Job }) {
  const api = useApi();
  const reread = useReread();
  const { done } = useToast();
  const [name] = useState(stored?.name);
  const edited = useEdited(() => ({
    start: stored === undefined ? FRESH : draftOf(stored),
    revision: stored?.revision,
  }));
  const { start, revision } = edited;
  const isNew = name === undefined;
  const send = async (
    draft: Draft,
    dryRun: true | undefined,
  ): Promise<Checked & { readonly name: string }> => {
    const body = isNew ? draft : updateBody(start, draft);
    const created = { body: unjudged<BodyFor<'POST /api/v1/jobs'>>(body), query: { dryRun } };
    if (isNew) {
      const wrong = dryRun ? await api.rejections('POST /api/v1/jobs', created) : [];
      if (wrong.length > 0) return { wrong, name: '' };
      const plan = await api.call('POST /api/v1/jobs', created);
      return { plan, name: plan.name };
    }
    const updated = { ...created, params: { name }, ifMatch: revision };
    const wrong = dryRun ? await api.rejections('PUT /api/v1/jobs/{name}', updated) : [];
    if (wrong.length > 0) return { wrong, name };
    return { plan: await api.call('PUT /api/v1/jobs/{name}', updated), name };
  };
  const save = async (draft: Draft) => {
    const answer = await send(draft, undefined);
    done(isNew ? `Job ${answer.name} is created.` : `Job ${answer.name} is saved; its next run takes it.`);
    await reread('jobs');
    return `/jobs/${answer.name}`;
  };
  return (
    <RecordEditor
      title={isNew ? 'New job' : `Edit ${name}`}
      back={isNew ? { to: '/jobs', title: 'Jobs' } : { to: `/jobs/${name}`, title: name }}
      edited={edited}
      isNew={isNew}
      paths={JOB_PATHS}
      planNote="Check the description to see what would change, and which node a run would go to and why."
      form={(draft, onChange) => <JobForm isNew={isNew} draft={draft} onChange={onChange} />}
      onCheck={(draft) => send(draft, true)}
      onSave={save}
    />
  );
}

export function NewJobPage() {
  return <Editor />;
}

export function EditJobPage() {
  const name = useParam('name');
  const { data, error } = useJob(name);
  if (data === undefined)
    return <PendingPage title={`Edit ${name}`} back={{ to: '/jobs', title: 'Jobs' }} error={error} />;
  return <Editor key={name} stored={data} />;
}
