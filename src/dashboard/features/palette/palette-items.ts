import type { Permission } from '../../../core/model/permission.ts';
import { mayOpen, PAGES } from '../../app/pages.ts';
import type { IconName } from '../../components/icon.tsx';

export interface Item {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly note?: string;
  readonly icon: IconName;
  readonly to?: string;
  readonly search?: Readonly<Record<string, boolean>>;
  readonly run?: () => void;
}

interface Action extends Item {
  readonly permission: Permission;
}

const ACTIONS: readonly Action[] = [
  {
    id: 'new-deployment',
    group: 'Do',
    title: 'New deployment',
    icon: 'plus',
    to: '/deployments/new',
    permission: 'deploy',
  },
  { id: 'new-job', group: 'Do', title: 'New job', icon: 'plus', to: '/jobs/new', permission: 'deploy' },
  {
    id: 'enrol',
    group: 'Do',
    title: 'Enrol a node',
    icon: 'plus',
    to: '/nodes',
    search: { enrol: true },
    permission: 'nodes.manage',
  },
  {
    id: 'new-token',
    group: 'Do',
    title: 'New token',
    icon: 'plus',
    to: '/tokens',
    search: { new: true },
    permission: 'tokens.manage',
  },
  {
    id: 'new-tenant',
    group: 'Do',
    title: 'New tenant',
    icon: 'plus',
    to: '/tenants',
    search: { new: true },
    permission: 'tenants.manage',
  },
];

/** What the role permits: pages of the navigation, and actions. */
export function fixedItems(can: (permission: Permission) => boolean): readonly Item[] {
  const pages = PAGES.flatMap(({ path, title, nav }) =>
    nav !== undefined && mayOpen(path, can)
      ? [{ id: path, group: 'Go to', title, icon: nav.icon, to: path }]
      : [],
  );
  return [...ACTIONS.filter(({ permission }) => can(permission)), ...pages];
}

/** Of each group. */
const MAX_OF_GROUP = 8;

/** Those whose title has every word, first those that begin with the text; a few of each group. */
export function matching(items: readonly Item[], text: string): readonly Item[] {
  const wanted = text.trim().toLowerCase();
  const words = wanted.split(/\s+/);
  const counts = new Map<string, number>();
  const rank = ({ title }: Item) => (title.toLowerCase().startsWith(wanted) ? 0 : 1);
  return items
    .filter(({ title, note = '' }) => {
      const said = `${title} ${note}`.toLowerCase();
      return words.every((word) => said.includes(word));
    })
    .toSorted((a, b) => (a.group === b.group ? rank(a) - rank(b) : 0))
    .filter(({ group }) => {
      const before = counts.get(group) ?? 0;
      counts.set(group, before + 1);
      return before < MAX_OF_GROUP;
    });
}
