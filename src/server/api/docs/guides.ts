import type { Html } from './html.ts';

/** A page under /docs/guide/<slug>. */
export interface Guide {
  readonly slug: string;
  readonly title: string;
  readonly summary: string;
  readonly content: Html;
}

/** The guides in reading order. A guide appears in the index and gets its page by being listed here. */
export const GUIDES: readonly Guide[] = [];
