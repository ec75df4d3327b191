import { useState } from 'react';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { Draft } from '../lib/draft.ts';

/** A `$name` of the page's path. */
export function useParam(name: string): string {
  const params: Draft = useParams({ strict: false });
  return textOf(params[name]) ?? '';
}

/** What follows the question mark, where anybody may have written anything. */
export function useAddress() {
  const search: Draft = useSearch({ strict: false });
  return {
    text: (name: string): string | undefined => textOf(search[name]),
    number: (name: string): number | undefined => {
      const value = search[name];
      return typeof value === 'number' ? value : undefined;
    },
    isSet: (name: string): boolean => search[name] === true,
  };
}

/** A window of a page, which its address may ask for: closed, it is taken out of the address. */
export function useWindow(name: string): readonly [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const navigate = useNavigate();
  const isAsked = useAddress().isSet(name);
  const [isOpen, setOpen] = useState(false);
  const set = (next: boolean) => {
    setOpen(next);
    if (!next && isAsked) void navigate({ to: '.', search: {}, replace: true });
  };
  return [isAsked || isOpen, set];
}

/** The router reads a text that looks like a number as one. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
