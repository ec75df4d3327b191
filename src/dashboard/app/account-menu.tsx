import { useState } from 'react';
import { Menu } from '@base-ui/react/menu';
import { Icon } from '../components/icon.tsx';
import { chooseTheme, storedTheme, type ThemeChoice } from '../lib/theme.ts';
import { useSession } from './session.tsx';

const THEMES: readonly (readonly [ThemeChoice, string])[] = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

const ITEM =
  'flex cursor-pointer items-center justify-between gap-6 rounded px-2.5 py-1.5 outline-none data-highlighted:bg-hover';

export function AccountMenu() {
  const { view, signOut } = useSession();
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Menu.Root>
      <Menu.Trigger className="flex w-full items-center gap-2.5 rounded-md px-2 py-1.5 text-left hover:bg-hover">
        <span
          aria-hidden="true"
          className="grid size-8 place-items-center rounded-full bg-accent-soft text-accent"
        >
          <Icon name="user" />
        </span>
        <span className="min-w-0 flex-1">
          <span className="block truncate text-xs font-medium">{view.role}</span>
          <span className="block truncate text-2xs text-muted">{view.tokenId}</span>
        </span>
        <Icon name="unfold" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="start" side="top" sideOffset={4} className="z-50 outline-none">
          <Menu.Popup className="min-w-56 rounded-lg border bg-surface p-1 shadow-raised outline-none">
            <Menu.RadioGroup
              value={theme}
              onValueChange={(choice: ThemeChoice) => {
                chooseTheme(choice);
                setTheme(choice);
              }}
            >
              {THEMES.map(([choice, title]) => (
                <Menu.RadioItem key={choice} value={choice} className={ITEM}>
                  {title}
                  <Menu.RadioItemIndicator>
                    <Icon name="check" />
                  </Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator className="my-1 h-px bg-line" />
            <Menu.LinkItem href="/docs" target="_blank" rel="noreferrer" className={ITEM}>
              Documentation
              <Icon name="external" />
            </Menu.LinkItem>
            <Menu.Item className={ITEM} onClick={() => void signOut()}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
