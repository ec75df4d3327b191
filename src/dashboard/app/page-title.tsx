import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';

interface TitleState {
  readonly title: string;
  readonly setTitle: (title: string) => void;
}

const TitleContext = createContext<TitleState>({ title: '', setTitle: () => undefined });

/** The title of the page, in the window's title and announced to screen readers when it changes. */
export function PageTitleProvider({ children }: { readonly children: ReactNode }) {
  const [title, setTitle] = useState('');
  const state = useMemo(() => ({ title, setTitle }), [title]);
  return (
    <TitleContext value={state}>
      {children}
      <div aria-live="polite" className="sr-only">
        {title}
      </div>
    </TitleContext>
  );
}

export function usePageTitle(title: string): void {
  const { setTitle } = use(TitleContext);
  useEffect(() => {
    document.title = `${title} · Berth`;
    setTitle(title);
  }, [title, setTitle]);
}
