import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { type BodyFor, unjudged } from '../../../sdk/index.ts';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { TextAreaField, TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { listOrNothing } from '../../lib/draft.ts';
import type { Webhook } from './webhook-queries.ts';

const PATHS = ['name', 'url', 'signing.vault_path', 'signing.key', 'events.kinds', 'events.subjects'];

/** Makes one, or changes one. */
export function WebhookDialog({
  stored,
  onClose,
}: {
  readonly stored?: Webhook;
  readonly onClose: () => void;
}) {
  const api = useApi();
  const reread = useReread();
  const navigate = useNavigate();
  const { done } = useToast();
  // As it was when the editing began: what another wrote since is not overwritten unseen.
  const [edited] = useState(stored);
  const [draft, setDraft] = useState({
    name: stored?.name ?? '',
    url: stored?.url ?? '',
    path: stored?.signing.vault_path ?? '',
    key: stored?.signing.key ?? '',
    kinds: (stored?.events.kinds ?? []).join('\n'),
    subjects: (stored?.events.subjects ?? []).join('\n'),
  });
  const set = (field: keyof typeof draft) => (value: string) => setDraft({ ...draft, [field]: value });
  const save = async () => {
    const [kinds, subjects] = [listOrNothing(draft.kinds, /[\s,]/), listOrNothing(draft.subjects, /[\s,]/)];
    const body = unjudged<BodyFor<'POST /api/v1/webhooks'>>({
      name: draft.name,
      url: draft.url,
      signing: { vault_path: draft.path, ...(draft.key === '' ? {} : { key: draft.key }) },
      events: { ...(kinds && { kinds }), ...(subjects && { subjects }) },
    });
    if (edited === undefined) await api.call('POST /api/v1/webhooks', { body });
    else
      await api.call('PUT /api/v1/webhooks/{name}', {
        params: { name: edited.name },
        body,
        ifMatch: edited.revision,
      });
    done(edited === undefined ? `Webhook ${draft.name} is created.` : `Webhook ${draft.name} is saved.`);
    await reread('webhooks');
    if (edited === undefined) await navigate({ to: `/webhooks/${draft.name}` });
  };
  return (
    <FormDialog
      title={edited === undefined ? 'New webhook' : `Edit ${edited.name}`}
      note="Events from now on are sent to the address, signed, at least once and in order."
      action={edited === undefined ? 'Create' : 'Save'}
      paths={PATHS}
      onClose={onClose}
      onSubmit={save}
    >
      <TextField
        path="name"
        label="Name"
        placeholder="alerts"
        disabled={edited !== undefined}
        value={draft.name}
        onChange={set('name')}
      />
      <TextField
        mono
        path="url"
        label="Address"
        placeholder="https://hooks.example.com/berth"
        hint="By POST. HTTPS at a public address, unless the platform lists the host."
        value={draft.url}
        onChange={set('url')}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          mono
          path="signing.vault_path"
          label="Secret of the signing key"
          placeholder="resources/hooks"
          value={draft.path}
          onChange={set('path')}
        />
        <TextField
          mono
          path="signing.key"
          label="Key in it"
          placeholder="key"
          hint="Empty: key."
          value={draft.key}
          onChange={set('key')}
        />
      </div>
      <TextAreaField
        path="events.kinds"
        label="Only these kinds"
        rows={2}
        hint="One a line, as node.failed or deployment.*; empty: all."
        value={draft.kinds}
        onChange={set('kinds')}
      />
      <TextAreaField
        path="events.subjects"
        label="Only about"
        rows={2}
        hint="One a line: a name, Kind/name or Kind/*; empty: everything."
        value={draft.subjects}
        onChange={set('subjects')}
      />
    </FormDialog>
  );
}
