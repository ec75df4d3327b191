import { beforeEach, expect, it } from 'vitest';
import {
  forgetDrafts,
  keepDraft,
  type KeptDraft,
  sessionBegun,
  sessionEnded,
  takeDraft,
} from './kept-drafts.ts';

const DRAFT: KeptDraft = { start: {}, revision: 3, editing: { mode: 'form', draft: {}, text: '' } };

beforeEach(() => {
  forgetDrafts();
  sessionBegun();
});

it('keeps what was entered when a session ends by itself, and gives it once', () => {
  keepDraft('left on purpose', DRAFT);
  sessionEnded();
  keepDraft('web', DRAFT);
  sessionBegun();
  expect(takeDraft('left on purpose')).toBeUndefined();
  expect(takeDraft('web')).toBe(DRAFT);
  expect(takeDraft('web')).toBeUndefined();
});

it('keeps nothing after signing out, also when that is answered by the end of the session', () => {
  forgetDrafts();
  sessionEnded();
  keepDraft('web', DRAFT);
  sessionBegun();
  expect(takeDraft('web')).toBeUndefined();
});

it('forgets what was kept before another tab told of signing out', () => {
  sessionEnded();
  keepDraft('web', DRAFT);
  forgetDrafts();
  expect(takeDraft('web')).toBeUndefined();
});
