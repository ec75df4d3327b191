import { useState } from 'react';
import { Icon } from '../components/icon.tsx';
import { useToast } from '../components/toast.tsx';
import { chooseTheme, storedTheme } from '../lib/theme.ts';
import { Dropdown } from './dropdown.tsx';
import { useSession } from './session.tsx';

const THEMES = [
  { value: 'system', title: 'As the system' },
  { value: 'light', title: 'Light' },
  { value: 'dark', title: 'Dark' },
] as const;

/** Who is signed in, the look, the documentation, and the way out. */
export function AccountMenu() {
  const { view, signOut } = useSession();
  const { failed } = useToast();
  const name = view.tokenName ?? view.tokenId;
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Dropdown
      label={`Signed in as ${name}, ${view.role}: theme and sign-out`}
      side="top"
      trigger={
        <>
          <span
            aria-hidden="true"
            className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-accent"
          >
            <Icon name="user" />
          </span>
          <span className="min-w-0 flex-1">
            <span className="block truncate text-xs font-medium">{name}</span>
            <span className="block truncate text-2xs text-muted">{view.role}</span>
          </span>
          <Icon name="unfold" />
        </>
      }
      choices={THEMES}
      chosen={theme}
      onChoose={(choice) => {
        const next = THEMES.find(({ value }) => value === choice)?.value;
        if (next === undefined) return;
        chooseTheme(next);
        setTheme(next);
      }}
      links={[{ title: 'Documentation', href: '/docs' }]}
      actions={[{ title: 'Sign out', run: () => void signOut().catch(failed) }]}
    />
  );
}
