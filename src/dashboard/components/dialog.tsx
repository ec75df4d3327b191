import type { ReactNode } from 'react';
import { Dialog as Base } from '@base-ui/react/dialog';
import { IconButton } from './button.tsx';

/** A window over the page: keeps the focus, closes with Escape, gives the focus back. */
export function Dialog({
  title,
  note,
  isOpen,
  onClose,
  wide = false,
  actions,
  children,
}: {
  readonly title: string;
  readonly note?: ReactNode;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly wide?: boolean;
  /** The row of buttons at its foot. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => open || onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/45" />
        <Base.Popup
          className={`fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col rounded-xl border bg-surface shadow-raised outline-none ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <div className="flex items-start justify-between gap-4 border-b py-3 pr-2.5 pl-5">
            <div className="pt-1">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {note === undefined ? null : (
                <Base.Description className="mt-0.5 text-muted">{note}</Base.Description>
              )}
            </div>
            <Base.Close render={<IconButton icon="close" label="Close" />} />
          </div>
          <div className="flex min-h-0 flex-col gap-4 overflow-y-auto px-5 py-4">{children}</div>
          {actions === undefined ? null : (
            <div className="flex flex-wrap justify-end gap-2 border-t px-5 py-3">{actions}</div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
