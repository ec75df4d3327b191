import type { DeploymentStatus } from '../../core/model/deployment.ts';
import type { Stored } from './collection.ts';
import { UnreadRecord } from './unread-record.ts';

/** What totals are made of. */
export interface StatusFigures extends Pick<DeploymentStatus, 'desired' | 'placed' | 'running' | 'healthy'> {
  readonly phase: string;
}

/** Its first members, in the order in which they are written. A quote within a text is escaped: no text is taken for a member. */
const FIRST_MEMBERS =
  /^\{"v":\d+,(?:"specHash":"[^"\\]*",)?"phase":"(\w+)","message":"[^"\\]*(?:\\.[^"\\]*)*","desired":(\d+),"placed":(\d+),"running":(\d+),"healthy":(\d+)[,}]/;

/** Of a status that nobody has read yet without reading it: a start counts all of them. */
export function figuresOf(stored: Stored<DeploymentStatus>): StatusFigures {
  const text = stored instanceof UnreadRecord ? stored.text : undefined;
  const found = text === undefined ? null : FIRST_MEMBERS.exec(text);
  if (found === null) return stored.record;
  return {
    phase: String(found[1]),
    desired: Number(found[2]),
    placed: Number(found[3]),
    running: Number(found[4]),
    healthy: Number(found[5]),
  };
}
