import type { ReactNode } from 'react';

/** Names and values of a record; a value that is not there is left out. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-xs">
      {facts.map(([name, value]) =>
        value === undefined || value === null ? null : (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Labels as small tags. */
export function Labels({ labels }: { readonly labels: Readonly<Record<string, string>> }) {
  const entries = Object.entries(labels);
  if (entries.length === 0) return <span className="text-muted">none</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {entries.map(([name, value]) => (
        <code key={name} className="rounded bg-sunken px-1.5 py-0.5 font-mono text-2xs text-muted">
          {name}={value}
        </code>
      ))}
    </span>
  );
}
