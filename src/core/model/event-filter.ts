import type { EventSubject } from './event.ts';

/** What `isOfKind` may be asked for: nothing else can be meant. */
export const KIND_FORM = /^[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*(?:\.\*)?$/;

/** Of kinds of events and of actions: the one that is wanted, or with `deployment.*` all that begin alike. */
export function isOfKind(wanted: string, kind: string): boolean {
  return wanted.endsWith('.*') ? kind.startsWith(wanted.slice(0, -1)) : kind === wanted;
}

/** About what is wanted: a name, `Kind/name`, or `Kind/*` for all of a kind. */
export function isAbout(wanted: string, { kind, name }: EventSubject): boolean {
  return wanted === name || wanted === `${kind}/${name}` || wanted === `${kind}/*`;
}
