import type { ReactNode } from 'react';
import { Tabs as Base } from '@base-ui/react/tabs';

export interface TabContent {
  readonly value: string;
  readonly title: string;
  readonly content: () => ReactNode;
}

/** Only the chosen tab is drawn. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  readonly label: string;
  readonly tabs: readonly TabContent[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(String(next))}>
      <Base.List aria-label={label} className="flex gap-5 overflow-x-auto border-b">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px border-b-2 border-transparent px-0.5 py-2 font-medium whitespace-nowrap text-muted hover:text-ink data-active:border-accent data-active:text-ink"
          >
            {tab.title}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="pt-5 outline-none">
          {tab.value === value ? tab.content() : null}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
