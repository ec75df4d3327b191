import { unjudged } from '../../../sdk/index.ts';
import { useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';

export function ImportBackup({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const reread = useReread();
  const { done } = useToast();
  const [file, setFile] = useState<File>();
  const bring = async () => {
    if (file === undefined) throw new Error('Choose a file first.');
    let document: unknown;
    try {
      document = JSON.parse(await file.text());
    } catch (cause) {
      throw new Error('The file is not JSON.', { cause });
    }
    const made = await api.call('POST /api/v1/backups/import', { body: unjudged(document) });
    done(`A backup of ${made.deploymentName} is imported. It can be restored now.`);
    await reread('backups');
  };
  return (
    <FormDialog
      title="Import a backup"
      note="The document that an export made, here or in another control plane."
      action="Import"
      paths={[]}
      onClose={onClose}
      onSubmit={bring}
    >
      <Field path="document" label="File">
        {(wiring) => (
          <input
            {...wiring}
            type="file"
            accept="application/json,.json"
            onChange={(event) => setFile(event.target.files?.[0])}
            className="rounded-md border border-line-strong bg-canvas text-xs file:mr-3 file:h-9 file:border-0 file:bg-sunken file:px-3 file:text-ink"
          />
        )}
      </Field>
    </FormDialog>
  );
}
