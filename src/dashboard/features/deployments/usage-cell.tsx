import { useEffect, useState } from 'react';
import { bytes } from '../../lib/format.ts';
import { useInstances } from './deployment-queries.ts';

/** A row that is scrolled by asks nothing. */
const SETTLED_MS = 400;
const EVERY_MS = 15_000;

export function UsageCell({ name }: { readonly name: string }) {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLED_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSettled ? <Usage name={name} /> : null;
}

/** What the instances of a deployment use together, as their agents measured it last. */
function Usage({ name }: { readonly name: string }) {
  const { data = [] } = useInstances(name, { everyMs: EVERY_MS });
  const measured = data.flatMap(({ usage }) => usage ?? []);
  if (measured.length === 0) return null;
  const total = (of: (one: (typeof measured)[number]) => number) =>
    measured.reduce((sum, one) => sum + of(one), 0);
  return (
    <span className="block text-xs tabular-nums">
      {total(({ cpuPercent }) => cpuPercent).toFixed(0)} % CPU
      <span className="block text-muted">{bytes(total(({ memoryBytes }) => memoryBytes))}</span>
    </span>
  );
}
