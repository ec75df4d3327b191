import type { Draft } from './draft.ts';

/** What an editor holds that no page can read again: what was entered, and of which revision. */
export interface KeptDraft {
  readonly start: Draft;
  readonly revision: number | undefined;
  readonly editing: { readonly mode: 'form' | 'yaml'; readonly draft: Draft; readonly text: string };
}

/** In memory and nowhere else: an environment may name what is nobody's business. */
const kept = new Map<string, KeptDraft>();
let session: 'open' | 'ended' | 'left' = 'open';

/** The session ended by itself: editors that close now keep what was entered, until somebody of the same role has signed in again. */
export function sessionEnded(): void {
  if (session === 'open') session = 'ended';
}

/** Signed in again, or still. */
export function sessionBegun(): void {
  session = 'open';
}

/** One leaves by one's own will, whatever is answered to requests after that: nothing is kept until somebody has signed in again. */
export function forgetDrafts(): void {
  session = 'left';
  kept.clear();
}

export function keepDraft(key: string, draft: KeptDraft): void {
  if (session === 'ended') kept.set(key, draft);
}

/** Only once: what is left behind afterwards is left on purpose. */
export function takeDraft(key: string): KeptDraft | undefined {
  const draft = kept.get(key);
  kept.delete(key);
  return draft;
}
