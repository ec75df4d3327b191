import { unjudged } from '../../../sdk/index.ts';
import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { FieldRejection, SelectField, TextField, useRejectionAt } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import { listOrNothing, numberOrText } from '../../lib/draft.ts';

interface Pair {
  readonly id: number;
  readonly key: string;
  readonly value: string;
}

const INPUT =
  'h-9 min-w-0 rounded-md border border-line-strong bg-canvas px-3 font-mono text-xs placeholder:text-faint';

/** Values are typed unseen and leave the page with the write; nothing brings them back. */
function Values({
  pairs,
  onChange,
}: {
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
}) {
  const rejection = useRejectionAt('values');
  return (
    <fieldset className="flex min-w-0 flex-col gap-2" data-field="values">
      <legend className="pb-1 text-xs font-medium">Values to store</legend>
      {pairs.map((pair, at) => (
        <div key={pair.id} className="flex items-center gap-2">
          <input
            aria-label={`Key ${at + 1}`}
            placeholder="key"
            autoComplete="off"
            spellCheck={false}
            value={pair.key}
            onChange={(event) => onChange(pairs.with(at, { ...pair, key: event.target.value }))}
            className={`w-2/5 ${INPUT}`}
          />
          <input
            type="password"
            aria-label={`Value ${at + 1}`}
            placeholder="value"
            autoComplete="new-password"
            value={pair.value}
            onChange={(event) => onChange(pairs.with(at, { ...pair, value: event.target.value }))}
            className={`flex-1 ${INPUT}`}
          />
          <IconButton
            icon="trash"
            label={`Remove value ${at + 1}`}
            onClick={() => onChange(pairs.toSpliced(at, 1))}
          />
        </div>
      ))}
      {rejection === undefined ? null : <FieldRejection rejection={rejection} />}
      <span>
        <Button
          small
          tone="quiet"
          icon="plus"
          onClick={() => onChange([...pairs, { id: (pairs.at(-1)?.id ?? 0) + 1, key: '', value: '' }])}
        >
          Add a value
        </Button>
      </span>
    </fieldset>
  );
}

const NAMESPACES = ['resources', 'deployments', 'registries'] as const;
const HOW = [
  ['bytes', 'random bytes, as text'],
  ['length', 'characters'],
] as const;
const ENCODINGS = ['base64url', 'base64', 'hex'].map((one) => [one, one] as const);
const CHARSETS = ['alphanumeric', 'lowercase', 'symbols'].map((one) => [one, one] as const);

/** A document is written whole, and its values cannot be read back, by nobody. */
export function WriteSecret({
  namespace: givenNamespace,
  name: givenName,
  onClose,
}: {
  readonly namespace?: string;
  readonly name?: string;
  readonly onClose: () => void;
}) {
  const api = useApi();
  const reread = useReread();
  const { done } = useToast();
  const [namespace, setNamespace] = useState(givenNamespace ?? 'resources');
  const [name, setName] = useState(givenName ?? '');
  const [pairs, setPairs] = useState<readonly Pair[]>([{ id: 1, key: '', value: '' }]);
  const [keys, setKeys] = useState('');
  const [how, setHow] = useState('bytes');
  const [amount, setAmount] = useState('32');
  const [form, setForm] = useState('base64url');
  const choose = (next: string) => {
    setHow(next);
    setForm(next === 'bytes' ? 'base64url' : 'alphanumeric');
  };
  const write = async () => {
    const given = pairs.filter(({ key, value }) => key !== '' || value !== '');
    const wanted = listOrNothing(keys, /[\s,]+/);
    const generate =
      wanted === undefined
        ? undefined
        : how === 'bytes'
          ? { keys: wanted, bytes: numberOrText(amount), encoding: form }
          : { keys: wanted, length: numberOrText(amount), charset: form };
    const body = {
      ...(given.length === 0
        ? {}
        : { values: Object.fromEntries(given.map(({ key, value }) => [key, value])) }),
      ...(generate === undefined ? {} : { generate }),
    };
    const written = await api.call('PUT /api/v1/secrets/{namespace}/{name}', {
      params: { namespace, name },
      body: unjudged(body),
    });
    const lost = written.removed ?? [];
    done(
      `${written.path} is written: version ${written.version}, keys ${written.keys.join(', ')}${lost.length === 0 ? '' : `; gone: ${lost.join(', ')}`}.`,
    );
    await reread('secrets');
  };
  return (
    <FormDialog
      wide
      title={givenName === undefined ? 'Write a secret' : `Write ${givenNamespace ?? ''}/${givenName}`}
      note="The document is replaced whole. Values go to the secrets store; no operation reads them back."
      action="Write"
      paths={['namespace', 'name', 'values', 'generate.keys', 'generate']}
      onClose={onClose}
      onSubmit={write}
    >
      {givenName === undefined ? (
        <div className="grid gap-3 sm:grid-cols-2">
          <SelectField
            path="namespace"
            label="Namespace"
            value={namespace}
            options={NAMESPACES.map((one) => [one, one] as const)}
            onChange={setNamespace}
          />
          <TextField mono path="name" label="Name" placeholder="db" value={name} onChange={setName} />
        </div>
      ) : null}
      <Values pairs={pairs} onChange={setPairs} />
      <fieldset className="grid gap-3 border-t pt-4 sm:grid-cols-4" data-field="generate">
        <legend className="sr-only">Values to generate</legend>
        <div className="sm:col-span-4">
          <TextField
            mono
            path="generate.keys"
            label="Keys to generate"
            hint="Separated by spaces. Minted by the control plane; nobody ever sees them."
            placeholder="password"
            value={keys}
            onChange={setKeys}
          />
        </div>
        <div className="sm:col-span-2">
          <SelectField path="generate.how" label="As" value={how} options={HOW} onChange={choose} />
        </div>
        <TextField
          path={`generate.${how}`}
          label="How many"
          inputMode="numeric"
          value={amount}
          onChange={setAmount}
        />
        <SelectField
          path={how === 'bytes' ? 'generate.encoding' : 'generate.charset'}
          label="Form"
          value={form}
          options={how === 'bytes' ? ENCODINGS : CHARSETS}
          onChange={setForm}
        />
      </fieldset>
    </FormDialog>
  );
}
