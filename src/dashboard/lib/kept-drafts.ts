import type { Draft } from './draft.ts';

/** What an editor holds that no page can read again: what was entered, and of which revision. */
export interface KeptDraft {
  readonly start: Draft;
  readonly revision: number | undefined;
  readonly editing: { readonly mode: 'form' | 'yaml'; readonly draft: Draft; readonly text: string };
}

/** In memory and nowhere else: an environment may name what is nobody's business. */
const kept = new Map<string, KeptDraft>();
let isEnded = false;

/** The session ended by itself: editors that close now keep what was entered, until somebody of the same role has signed in again. */
export function sessionEnded(): void {
  isEnded = true;
}

/** Signed in again, or out by one's own will. */
export function sessionBegun(): void {
  isEnded = false;
}

export function forgetDrafts(): void {
  isEnded = false;
  kept.clear();
}

export function keepDraft(key: string, draft: KeptDraft): void {
  if (isEnded) kept.set(key, draft);
}

/** Only once: what is left behind afterwards is left on purpose. */
export function takeDraft(key: string): KeptDraft | undefined {
  const draft = kept.get(key);
  kept.delete(key);
  return draft;
}
