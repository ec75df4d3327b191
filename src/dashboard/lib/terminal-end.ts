import type { ChannelEnd } from '../../core/contract/channel-messages.ts';

export interface TerminalEnd {
  /** Undefined: none was told. */
  readonly end: ChannelEnd | undefined;
  /** The command or its connection, the person here, or a connection that was never there. */
  readonly by: 'itself' | 'closed' | 'refused';
}

/** How a terminal ended, in a sentence. */
export function endText({ end, by }: TerminalEnd): string {
  if (by === 'closed') return 'Ended from here; the command was stopped.';
  if (end === undefined)
    return by === 'refused'
      ? 'The terminal could not be opened: the control plane could not be reached, or a proxy in between does not pass WebSockets.'
      : 'The connection was lost. What ran here is stopped by its node.';
  if (end.timedOut === true) return 'The command took too long and was killed.';
  if (end.detached === true) return 'Left: the command goes on without this terminal.';
  if (end.exitCode === undefined) return 'The command ended without an exit status.';
  return `The command ended with exit status ${end.exitCode}.`;
}
