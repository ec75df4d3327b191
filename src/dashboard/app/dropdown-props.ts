import type { ReactNode } from 'react';

interface Choice {
  readonly value: string;
  readonly title: string;
  readonly note?: string;
}

export interface DropdownProps {
  readonly label: string;
  readonly trigger: ReactNode;
  readonly choices: readonly Choice[];
  readonly chosen: string;
  readonly onChoose: (value: string) => void;
  readonly links?: readonly { readonly title: string; readonly href: string }[];
  readonly actions?: readonly { readonly title: string; readonly run: () => void }[];
  readonly side: 'top' | 'bottom';
}

/** The button looks the same before its menu is there. */
export const TRIGGER_LOOK =
  'flex w-full items-center justify-between gap-2.5 rounded-md border bg-sunken px-3 py-1.5 text-left hover:border-line-strong';
