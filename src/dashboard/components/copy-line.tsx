import { useState } from 'react';
import { Button } from './button.tsx';

const SHOWN_MS = 2000;

/** A line to take elsewhere, e.g. a token that is shown once or a command to paste. */
export function CopyLine({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <div className="flex items-start gap-2 rounded-md border bg-sunken p-2">
      <code
        aria-label={label}
        className="min-w-0 flex-1 px-1 py-1 font-mono text-xs wrap-anywhere select-all"
      >
        {text}
      </code>
      <Button small icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
