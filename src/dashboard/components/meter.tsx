import { percent } from '../lib/format.ts';

/** How much of an amount is taken, as a bar with its text. */
export function Meter({
  label,
  value,
  max,
  text,
}: {
  readonly label: string;
  readonly value: number;
  readonly max: number;
  readonly text: string;
}) {
  const share = percent(value, max);
  const tone = share >= 95 ? 'bg-bad' : share >= 80 ? 'bg-warn' : 'bg-accent';
  return (
    <div>
      <div className="flex items-baseline justify-between gap-3 text-xs">
        <span className="text-muted">{label}</span>
        <span>{text}</span>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuenow={share}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={text}
        className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken"
      >
        <div className={`h-full rounded-full ${tone}`} style={{ width: `${Math.min(100, share)}%` }} />
      </div>
    </div>
  );
}
