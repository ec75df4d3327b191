import type { ComponentProps, ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { Icon, type IconName } from './icon.tsx';

export type ButtonTone = 'primary' | 'plain' | 'danger' | 'quiet';

const TONES: Readonly<Record<ButtonTone, string>> = {
  primary: 'bg-accent text-on-accent border-transparent hover:bg-accent-hover',
  plain: 'bg-surface text-ink border-line-strong hover:bg-hover',
  danger: 'bg-surface text-bad border-bad/40 hover:bg-bad-soft',
  quiet: 'border-transparent text-muted hover:bg-hover hover:text-ink',
};

function look(tone: ButtonTone, small: boolean): string {
  const size = small ? 'h-7 px-2 text-xs' : 'h-9 px-3.5 text-sm';
  return `inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-55 disabled:cursor-not-allowed aria-pressed:border-accent/50 aria-pressed:bg-accent-soft aria-pressed:text-accent ${size} ${TONES[tone]}`;
}

interface Looks {
  readonly tone?: ButtonTone;
  readonly small?: boolean;
  readonly icon?: IconName;
  readonly children?: ReactNode;
}

/** For a button that says one of two things: it is as wide as the longer of them, so that nothing beside it moves. */
export function EitherWord({ shown, other }: { readonly shown: string; readonly other: string }) {
  return (
    <span className="grid">
      <span className="col-start-1 row-start-1">{shown}</span>
      <span aria-hidden="true" className="invisible col-start-1 row-start-1">
        {other}
      </span>
    </span>
  );
}

/** `busy`: it was pressed and is being done; it cannot be pressed again meanwhile. */
export function Button({
  tone = 'plain',
  small = false,
  icon,
  busy = false,
  children,
  ...rest
}: Looks & { readonly busy?: boolean } & Omit<ComponentProps<'button'>, 'className'>) {
  return (
    <button
      type="button"
      {...rest}
      disabled={busy || rest.disabled}
      aria-busy={busy}
      className={look(tone, small)}
    >
      {icon === undefined ? null : <Icon name={icon} className={small ? 'size-3.5' : 'size-4'} />}
      {children}
    </button>
  );
}

export function ButtonLink({
  to,
  search,
  tone = 'plain',
  small = false,
  icon,
  children,
}: Looks & { readonly to: string; readonly search?: Readonly<Record<string, string>> }) {
  return (
    <Link to={to} search={search ?? {}} className={look(tone, small)}>
      {icon === undefined ? null : <Icon name={icon} className={small ? 'size-3.5' : 'size-4'} />}
      {children}
    </Link>
  );
}

/** A button of a row or a header that shows only its icon; `label` is what it says. */
export function IconButton({
  icon,
  label,
  ...rest
}: { readonly icon: IconName; readonly label: string } & Omit<
  ComponentProps<'button'>,
  'className' | 'aria-label' | 'children'
>) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className="grid size-8 place-items-center rounded-md text-muted hover:bg-hover hover:text-ink disabled:opacity-50"
    >
      <Icon name={icon} className="size-4" />
    </button>
  );
}
