import { lazy, Suspense, useState } from 'react';
import { useAddress } from '../../app/address.ts';
import { useSession } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { RejectionNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { commandWords } from '../../lib/command-words.ts';
import { endText, type TerminalEnd } from '../../lib/terminal-end.ts';
import { readRejection } from '../../../sdk/rejection.ts';
import type { Instance } from '../../lib/records.ts';
import type { TerminalRun } from './terminal-screen.tsx';

const TerminalScreen = lazy(async () => ({
  default: (await import('./terminal-screen.tsx')).TerminalScreen,
}));

const HELP = 'terminal-help';
const SHELL = '/bin/sh';
const FIELD = 'h-9 rounded-md border border-line-strong bg-surface px-2';

interface Opened {
  readonly run: TerminalRun;
  readonly leaving: AbortController;
  readonly state: 'connecting' | 'running' | TerminalEnd;
}

/** A command with a terminal in one of the instances, for as long as this stays open. */
export function TerminalPanel({
  name,
  instances,
}: {
  readonly name: string;
  readonly instances: readonly Instance[];
}) {
  const { tenant } = useSession();
  const running = instances.filter(
    ({ state, wanted, nodeStatus }) => state === 'running' && wanted === 'run' && nodeStatus === undefined,
  );
  const [chosen, setChosen] = useState(useAddress().text('instance') ?? '');
  const [line, setLine] = useState(SHELL);
  const [isSpoken, setSpoken] = useState(false);
  const [opened, setOpened] = useState<Opened>();
  const instance = running.some(({ id }) => id === chosen) ? chosen : (running[0]?.id ?? '');
  const command = commandWords(line);
  const isOpen = opened !== undefined && typeof opened.state === 'string';
  if (running.length === 0 && opened === undefined)
    return (
      <Panel title="Terminal">
        <EmptyState title="No instance is running" icon="terminal">
          <p>A terminal needs a running container.</p>
        </EmptyState>
      </Panel>
    );
  const open = () =>
    setOpened({
      run: { target: { deployment: name, instance, tenant: tenant.id }, command },
      leaving: new AbortController(),
      state: 'connecting',
    });
  const enter = (state: Opened['state']) => setOpened((before) => before && { ...before, state });
  return (
    <Panel
      title="Terminal"
      note="A command in one instance, with your rights; its start and end are in the audit"
    >
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          open();
        }}
      >
        <label>
          <span className="sr-only">Instance</span>
          <select
            value={instance}
            disabled={isOpen}
            onChange={(event) => setChosen(event.target.value)}
            className={`${FIELD} max-w-72`}
          >
            {running.map(({ id, nodeId }) => (
              <option key={id} value={id}>
                {id.slice(-8)} on {nodeId}
              </option>
            ))}
          </select>
        </label>
        <label className="min-w-0 flex-[1_1_10rem]">
          <span className="sr-only">Command</span>
          <input
            value={line}
            disabled={isOpen}
            onChange={(event) => setLine(event.target.value)}
            spellCheck={false}
            autoComplete="off"
            placeholder={SHELL}
            className={`${FIELD} w-full font-mono text-xs`}
          />
        </label>
        {isOpen ? (
          <>
            <Button onClick={() => opened.leaving.abort()}>Leave running</Button>
            <Button tone="danger" onClick={() => enter({ end: undefined, by: 'closed' })}>
              End
            </Button>
          </>
        ) : (
          <Button
            type="submit"
            tone="primary"
            icon="terminal"
            disabled={command.length === 0 || instance === ''}
          >
            {opened === undefined ? 'Open' : 'Open again'}
          </Button>
        )}
      </form>
      {opened === undefined ? null : (
        <div className="mt-3 flex flex-col gap-2">
          <Ending state={opened.state} />
          <Suspense fallback={<Loading />}>
            <TerminalScreen
              run={opened.run}
              label={`Terminal in ${opened.run.target.instance}`}
              describedBy={HELP}
              isSpoken={isSpoken}
              isOver={!isOpen}
              leave={opened.leaving.signal}
              onStarted={() => enter('running')}
              onEnd={(end) =>
                setOpened(
                  (before) =>
                    before && {
                      ...before,
                      state:
                        typeof before.state === 'string'
                          ? { end, by: before.state === 'running' ? 'itself' : 'refused' }
                          : before.state,
                    },
                )
              }
            />
          </Suspense>
        </div>
      )}
      <div className="mt-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-2 text-xs text-muted">
        <p id={HELP} className="max-w-3xl">
          Tab goes to the command; Shift+Tab leaves the terminal. Ctrl+C interrupts, or copies what is
          selected; Ctrl+Shift+V pastes. The command ends with this page, unless it is left running.
        </p>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={isSpoken}
            onChange={(event) => setSpoken(event.target.checked)}
            className="accent-(--accent)"
          />
          Read output to screen readers
        </label>
      </div>
    </Panel>
  );
}

function Ending({ state }: { readonly state: Opened['state'] }) {
  const refused = typeof state === 'string' ? undefined : readRejection(state.end?.rejection);
  if (refused !== undefined && typeof state !== 'string')
    return (
      <RejectionNotice
        rejection={refused}
        title={state.by === 'refused' ? 'The terminal was not opened' : 'The terminal has ended'}
      />
    );
  return (
    <p role="status" className="text-xs text-muted">
      {state === 'connecting' ? 'Connecting' : state === 'running' ? 'Connected' : endText(state)}
    </p>
  );
}
