import { parsedRecord } from '../model/values.ts';

/** How a followed log ends when it is the control plane that goes, and not what it is of. */
export const STOPPING = { reason: 'the control plane is stopping', stopping: true } as const;

/** Of a message of a followed log. */
export function endsByStop({ event, data }: { readonly event: string; readonly data: string }): boolean {
  return event === 'end' && parsedRecord(data)['stopping'] === true;
}
