import { parsedRecord } from '../model/values.ts';

interface Message {
  readonly event: string;
  readonly data: string;
}

/** How a followed log ends when it is the control plane that goes, and not what it is of. */
export const STOPPING = { reason: 'the control plane is stopping', stopping: true } as const;

/** How the log of one instance ends when nobody can say whether that goes on. */
export const AGENT_LOST = { reason: 'its agent is not connected any more' } as const;

export function endsByStop({ event, data }: Message): boolean {
  return event === 'end' && parsedRecord(data)['stopping'] === true;
}

/** Why this message of a followed log of instances is an end before that of the log; undefined: it is not. */
export function unreadReason({ event, data }: Message): string | undefined {
  const reason = event === 'end' ? parsedRecord(data)['reason'] : undefined;
  return typeof reason === 'string' ? reason : undefined;
}
