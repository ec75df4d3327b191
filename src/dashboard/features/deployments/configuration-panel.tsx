import { useEffect, useState } from 'react';
import { CopyLine } from '../../components/copy-line.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { boundsText } from '../../../core/model/container-defaults.ts';
import type { Deployment } from '../../lib/records.ts';
import { draftOf } from '../../lib/draft.ts';

/** The description as one would write it. */
export function ConfigurationPanel({ deployment }: { readonly deployment: Deployment }) {
  const [text, setText] = useState<string>();
  useEffect(() => {
    let isGone = false;
    void import('yaml').then(({ stringify }) => isGone || setText(stringify(draftOf(deployment))));
    return () => {
      isGone = true;
    };
  }, [deployment]);
  return (
    <Panel
      title="Configuration"
      note={`Revision ${deployment.revision}, spec ${deployment.specHash.slice(0, 12)}; bounded by ${boundsText(deployment.containerDefaults)}`}
    >
      {text === undefined ? (
        <Loading />
      ) : (
        <pre
          aria-label="Configuration as YAML"
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
          className="overflow-x-auto font-mono text-xs leading-5"
        >
          {text}
        </pre>
      )}
      <div className="mt-4 border-t pt-4">
        <p className="pb-1.5 text-xs text-muted">The same on the command line</p>
        <CopyLine label="Command" text={`berth get deployment ${deployment.name} -o yaml`} />
      </div>
    </Panel>
  );
}
