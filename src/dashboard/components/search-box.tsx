import { Icon } from './icon.tsx';

export function SearchBox({
  label,
  value,
  onChange,
  onEnter,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** With the shift key: the other way. */
  readonly onEnter?: (isBack: boolean) => void;
}) {
  return (
    <label className="relative block w-full sm:w-80">
      <span className="sr-only">{label}</span>
      <span className="pointer-events-none absolute inset-y-0 left-2.5 grid place-items-center text-faint">
        <Icon name="search" className="size-4" />
      </span>
      <input
        type="search"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={({ key, shiftKey }) => {
          if (key === 'Enter') onEnter?.(shiftKey);
        }}
        placeholder={label}
        className="h-9 w-full rounded-md border border-line-strong bg-surface pr-3 pl-8.5 placeholder:text-faint"
      />
    </label>
  );
}
