import type { ReactNode } from 'react';
import { type RejectionRecord, rejectionOf } from '../../sdk/index.ts';
import { Icon } from './icon.tsx';

/** A refusal with everything it says: field, what was received, the accepted form, the reason and its page. */
export function RejectionNotice({
  rejection,
  title,
}: {
  readonly rejection: RejectionRecord;
  readonly title?: string;
}) {
  const { code, field, received, expected, why, doc } = rejection;
  return (
    <div role="alert" className="rounded-md border border-bad/35 bg-bad-soft px-4 py-3" data-code={code}>
      <p className="flex items-start gap-2 font-medium text-bad">
        <Icon name="warning" />
        <span>{title ?? why}</span>
      </p>
      <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 pl-6.5 text-xs">
        {title === undefined ? null : <Fact name="Why">{why}</Fact>}
        <Fact name="Field">
          <code className="font-mono">{field}</code>
        </Fact>
        <Fact name="Received">
          <code className="font-mono">{received}</code>
        </Fact>
        <Fact name="Expected">
          <code className="font-mono whitespace-pre-wrap">{expected}</code>
        </Fact>
        <Fact name="Code">
          <a href={doc} target="_blank" rel="noreferrer" className="font-mono underline">
            {code}
          </a>
        </Fact>
      </dl>
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 text-ink">{children}</dd>
    </>
  );
}

export function ErrorNotice({ error }: { readonly error: unknown }) {
  const rejection = rejectionOf(error);
  if (rejection !== undefined) return <RejectionNotice rejection={rejection} />;
  return (
    <div role="alert" className="flex gap-2 rounded-md border border-bad/35 bg-bad-soft px-4 py-3 text-bad">
      <Icon name="warning" />
      {error instanceof Error ? error.message : 'Something went wrong.'}
    </div>
  );
}
