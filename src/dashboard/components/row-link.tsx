import type { MouseEvent, ReactNode } from 'react';
import { useRouter } from '@tanstack/react-router';

/** The link of a row. Light, since a long table draws many of them while it is scrolled. */
export function RowLink({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  const router = useRouter();
  const follow = (event: MouseEvent) => {
    // A new tab or window is the browser's to open.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to });
  };
  return (
    <a href={to} onClick={follow} className="font-medium hover:text-accent hover:underline">
      {children}
    </a>
  );
}
