import type { ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

/** Says that there is nothing, why that may be, and what to do next. */
export function EmptyState({
  title,
  icon = 'box',
  children,
}: {
  readonly title: string;
  readonly icon?: IconName;
  readonly children?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-14 text-center text-muted">
      <span className="grid size-11 place-items-center rounded-full bg-sunken text-faint">
        <Icon name={icon} className="size-5.5" />
      </span>
      <p className="font-medium text-ink">{title}</p>
      {children}
    </div>
  );
}
