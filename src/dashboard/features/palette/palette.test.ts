import { describe, expect, it } from 'vitest';
import { type Item, matching } from './palette-items.ts';
import { shortcutOf } from './shortcuts.ts';

const item = (title: string, group = 'Deployments'): Item => ({ id: title, group, title, icon: 'layers' });
const press = (key: string, more: object = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

describe('the palette', () => {
  it('finds every word anywhere, beginnings first, a few of each group', () => {
    const found = matching([item('my-web'), item('web'), item('api'), item('Website', 'Go to')], 'web');
    expect(found.map(({ title }) => title)).toEqual(['web', 'my-web', 'Website']);
    expect(matching([item('New deployment')], 'dep new')).toHaveLength(1);
    const many = Array.from({ length: 100 }, (_, at) => item(`web-${at}`));
    expect(matching(many, 'web')).toHaveLength(8);
  });
});

describe('shortcuts', () => {
  const free = { isTyping: false, isAfterG: false, isCovered: false };
  it('are not taken from who types, but for the palette', () => {
    const typing = { ...free, isTyping: true };
    for (const key of ['/', '?', 'g']) expect(shortcutOf(press(key), typing)).toBeUndefined();
    expect(shortcutOf(press('k', { ctrlKey: true }), typing)).toEqual({ does: 'palette' });
    expect(shortcutOf(press('K', { metaKey: true }), typing)).toEqual({ does: 'palette' });
  });
  it('open nothing over a window of the page', () => {
    const covered = { ...free, isTyping: true, isCovered: true };
    expect(shortcutOf(press('k', { ctrlKey: true }), covered)).toBeUndefined();
  });
  it('go somewhere after g, and nowhere with another key held', () => {
    expect(shortcutOf(press('d'), free)).toBeUndefined();
    expect(shortcutOf(press('g'), free)).toEqual({ does: 'wait' });
    expect(shortcutOf(press('d'), { ...free, isAfterG: true })).toEqual({ does: 'go', to: '/deployments' });
    expect(shortcutOf(press('d', { ctrlKey: true }), { ...free, isAfterG: true })).toBeUndefined();
    expect(shortcutOf(press('k', { ctrlKey: true, altKey: true }), free)).toBeUndefined();
  });
});
