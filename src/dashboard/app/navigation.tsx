import { useEffect, useRef } from 'react';
import { Link, useLocation } from '@tanstack/react-router';
import { Icon } from '../components/icon.tsx';
import { NAV_GROUPS, PAGES } from './pages.ts';
import { useSession } from './session.tsx';

export function Navigation() {
  const { can } = useSession();
  const { pathname } = useLocation();
  const pages = useRef<HTMLElement>(null);
  // On a low screen the last pages are out of sight.
  useEffect(() => {
    // Newer browsers answer with a promise, which is no cleanup.
    pages.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [pathname]);
  return (
    <nav
      ref={pages}
      aria-label="Pages"
      className="flex flex-col gap-3 px-3 py-2 md:min-h-0 md:flex-1 md:overflow-y-auto"
    >
      {NAV_GROUPS.map((group) => {
        const ofGroup = PAGES.filter(
          ({ nav, permission }) => nav?.group === group && (permission === undefined || can(permission)),
        );
        if (ofGroup.length === 0) return null;
        return (
          <div key={group}>
            <p className="px-2 pb-1 text-2xs font-medium tracking-wide text-faint uppercase">{group}</p>
            <ul className="flex flex-col gap-0.5">
              {ofGroup.map(({ path, title, nav }) => (
                <li key={path}>
                  <Link
                    to={path}
                    activeOptions={{ exact: path === '/' }}
                    className="flex items-center gap-2.5 rounded-md px-2 py-1 text-muted hover:bg-hover hover:text-ink"
                    activeProps={{ className: 'bg-accent-soft !text-accent font-medium' }}
                  >
                    <Icon name={nav?.icon ?? 'layers'} />
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
