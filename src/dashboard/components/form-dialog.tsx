import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FormRejection, UnclaimedRejection } from './field.tsx';
import { useWrite } from './use-write.ts';

/** A form in a window. A refusal is shown at its field and the window stays; done, it closes. */
export function FormDialog({
  title,
  note,
  action,
  paths,
  wide = false,
  onClose,
  onSubmit,
  children,
}: {
  readonly title: string;
  readonly note?: ReactNode;
  /** What the button says: the verb. */
  readonly action: string;
  /** Fields of the form, as rejections name them; what is refused elsewhere is shown above them. */
  readonly paths: readonly string[];
  readonly wide?: boolean;
  readonly onClose: () => void;
  /** The window closes afterwards, unless it answers that it is to stay. */
  readonly onSubmit: () => Promise<void | 'stay'>;
  readonly children: ReactNode;
}) {
  const { isBusy, rejection, write } = useWrite();
  const submit = () =>
    write(async () => {
      if ((await onSubmit()) !== 'stay') onClose();
    });
  return (
    <Dialog
      title={title}
      note={note}
      isOpen
      wide={wide}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" busy={isBusy} onClick={() => void submit()}>
            {action}
          </Button>
        </>
      }
    >
      <form
        className="contents"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <FormRejection rejection={rejection}>
          <UnclaimedRejection paths={paths} />
          {children}
        </FormRejection>
        {/* Enter in a field sends the form. */}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
}
