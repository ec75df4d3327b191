import { createContext, type ReactNode, use, useCallback, useMemo, useRef, useState } from 'react';
import { rejectionOf } from '../../sdk/index.ts';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

interface Toast {
  readonly id: number;
  readonly tone: 'ok' | 'bad';
  readonly text: string;
}

interface ToastActions {
  readonly done: (text: string) => void;
  readonly failed: (error: unknown) => void;
}

const ToastContext = createContext<ToastActions>({ done: () => undefined, failed: () => undefined });
const SHOWN_MS = 6000;

export function useToast(): ToastActions {
  return use(ToastContext);
}

/** What became of an action whose place on the page is gone. A failure stays until it is put away. */
export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const next = useRef(0);
  const remove = useCallback(
    (id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)),
    [],
  );
  const add = useCallback(
    (tone: Toast['tone'], text: string) => {
      next.current += 1;
      const id = next.current;
      setToasts((shown) => [...shown.slice(-3), { id, tone, text }]);
      if (tone === 'ok') setTimeout(() => remove(id), SHOWN_MS);
    },
    [remove],
  );
  const actions = useMemo<ToastActions>(
    () => ({
      done: (text) => add('ok', text),
      failed: (error) => {
        const rejection = rejectionOf(error);
        const text =
          rejection === undefined
            ? error instanceof Error
              ? error.message
              : String(error)
            : `${rejection.why} (${rejection.code})`;
        add('bad', text);
      },
    }),
    [add],
  );
  return (
    <ToastContext value={actions}>
      {children}
      <div
        role="region"
        aria-label="Notices"
        aria-live="polite"
        className="pointer-events-none fixed right-4 bottom-4 z-[60] flex w-[min(26rem,calc(100vw-2rem))] flex-col gap-2"
      >
        {toasts.map(({ id, tone, text }) => (
          <div
            key={id}
            className="pointer-events-auto flex items-start gap-2.5 rounded-lg border bg-surface py-2.5 pr-1.5 pl-3 shadow-raised"
          >
            <span className={tone === 'ok' ? 'text-ok' : 'text-bad'}>
              <Icon name={tone === 'ok' ? 'check' : 'warning'} />
            </span>
            <p className="min-w-0 flex-1 pt-px">{text}</p>
            <IconButton icon="close" label="Put away" onClick={() => remove(id)} />
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
