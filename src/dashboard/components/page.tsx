import type { ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { usePageTitle } from '../app/page-title.tsx';

/** A page: its title, what can be done, and its content. */
export function Page({
  title,
  back,
  beside,
  note,
  actions,
  children,
}: {
  readonly title: string;
  /** The page above it. */
  readonly back?: { readonly to: string; readonly title: string };
  /** Next to the title, e.g. a status. */
  readonly beside?: ReactNode;
  /** A line below the title. */
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  usePageTitle(title);
  return (
    <div className="mx-auto flex max-w-[90rem] flex-col gap-5 px-4 py-5 md:px-8 md:py-7">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          {back === undefined ? null : (
            <Link to={back.to} className="text-xs text-muted hover:text-ink hover:underline">
              ← {back.title}
            </Link>
          )}
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
            {beside}
          </div>
          {note === undefined ? null : <div className="mt-1 max-w-3xl text-muted">{note}</div>}
        </div>
        {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page on its own ground. */
export function Panel({
  title,
  note,
  actions,
  flush = false,
  children,
}: {
  readonly title?: string;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  /** The content reaches the edges, as tables do. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border bg-surface shadow-card">
      {title === undefined ? null : (
        <div className="flex flex-wrap items-center justify-between gap-2 border-b px-4 py-2.5">
          <div className="min-w-0">
            <h2 className="font-semibold">{title}</h2>
            {note === undefined ? null : <p className="text-xs text-muted">{note}</p>}
          </div>
          {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      )}
      <div className={flush ? '' : 'p-4'}>{children}</div>
    </section>
  );
}
