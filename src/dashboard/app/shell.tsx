import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from '@tanstack/react-router';
import { Icon } from '../components/icon.tsx';
import { AccountMenu } from './account-menu.tsx';
import { LiveIndicator } from './live-indicator.tsx';
import { Navigation } from './navigation.tsx';
import { useOpenPalette } from './shortcut-keys.tsx';
import { TenantPicker } from './tenant-picker.tsx';

function Brand() {
  return (
    <span className="flex items-center gap-2.5">
      <img src="/favicon.svg" alt="" className="size-7" />
      <span className="text-[0.9375rem] font-semibold tracking-tight">Berth</span>
    </span>
  );
}

function FindButton() {
  const open = useOpenPalette();
  return (
    <button
      type="button"
      aria-keyshortcuts="Control+K Meta+K"
      onClick={open}
      className="flex h-9 w-full items-center gap-2 rounded-md border px-3 text-muted hover:border-line-strong hover:text-ink"
    >
      <Icon name="search" className="size-4" />
      <span className="flex-1 text-left">Find</span>
      <kbd className="hidden rounded border bg-sunken px-1.5 text-2xs md:inline">Ctrl K</kbd>
    </button>
  );
}

/** Navigation at the left; on a narrow screen behind a button. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to content
      </a>
      <header className="flex h-14 shrink-0 items-center justify-between border-b bg-surface px-4 md:hidden">
        <Brand />
        <span className="flex items-center gap-1">
          <LiveIndicator compact />
          <button
            type="button"
            aria-expanded={isOpen}
            aria-controls="navigation"
            aria-label="Menu"
            onClick={() => setOpen(!isOpen)}
            className="grid size-10 place-items-center rounded-md hover:bg-hover"
          >
            <Icon name={isOpen ? 'close' : 'menu'} />
          </button>
        </span>
      </header>
      <aside
        id="navigation"
        className={`${isOpen ? 'flex' : 'hidden'} absolute inset-x-0 top-14 bottom-0 z-40 flex-col overflow-y-auto border-r bg-surface md:static md:flex md:w-60 md:shrink-0 md:overflow-visible`}
      >
        <div className="hidden h-14 shrink-0 items-center justify-between px-4 md:flex">
          <Brand />
          <LiveIndicator compact />
        </div>
        <div className="px-3 pt-3 pb-2 md:pt-1">
          <TenantPicker />
        </div>
        <div className="px-3 pb-2">
          <FindButton />
        </div>
        <Navigation />
        <div className="mt-auto border-t bg-surface p-3">
          <AccountMenu />
        </div>
      </aside>
      <main id="content" tabIndex={-1} className="min-h-0 min-w-0 flex-1 overflow-y-auto outline-none">
        <LiveIndicator />
        {children}
      </main>
    </div>
  );
}
