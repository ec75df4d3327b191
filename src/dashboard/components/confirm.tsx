import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNotice } from './error-notice.tsx';

/**
 * Asks before something that cannot be taken back. With `typed`, that text has to be written first. A refusal is shown in
 * place, and the dialog stays.
 */
export function Confirm({
  title,
  action,
  isOpen,
  onClose,
  onConfirm,
  typed,
  danger = false,
  children,
}: {
  readonly title: string;
  /** What the button says: the verb, e.g. Delete. */
  readonly action: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => Promise<unknown>;
  readonly typed?: string;
  readonly danger?: boolean;
  readonly children?: ReactNode;
}) {
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const close = () => {
    setText('');
    setError(undefined);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      close();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      isOpen={isOpen}
      onClose={close}
      actions={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button
            tone={danger ? 'danger' : 'primary'}
            busy={isBusy}
            disabled={typed !== undefined && text !== typed}
            onClick={() => void confirm()}
          >
            {action}
          </Button>
        </>
      }
    >
      {children}
      {typed === undefined ? null : (
        <label className="flex flex-col gap-1.5">
          <span>
            Write <code className="font-mono font-medium">{typed}</code> to go on
          </span>
          <input
            value={text}
            onChange={(event) => setText(event.target.value)}
            autoComplete="off"
            className="h-9 rounded-md border border-line-strong bg-canvas px-3 font-mono"
          />
        </label>
      )}
      {error === undefined ? null : <ErrorNotice error={error} />}
    </Dialog>
  );
}
