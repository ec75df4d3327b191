import { type Client, connect } from '../../sdk/index.ts';
import { takeBegun } from './begun.ts';

export interface ApiSettings {
  /** The tenant acted for, unless a call names another. */
  readonly tenant?: string;
  /** The tenant as it was chosen when the page was opened: what was begun for it is taken. */
  readonly chosen?: string | undefined;
  /** Of a user who signs in; else the session cookie authenticates. */
  readonly token?: string;
  /** Of the session; sent with every write. */
  readonly csrfToken?: string;
  /** Told when the session is over, whatever was asked. */
  readonly onSignedOut?: () => void;
}

/** Few large pages: tables are read whole. */
const PAGE_SIZE = 1000;

/** The control plane that served this page, as the caller whose cookie the browser holds. */
export function apiOf({ tenant, chosen, token, csrfToken, onSignedOut }: ApiSettings = {}): Client {
  return connect({
    url: '',
    tenant,
    token,
    pageSize: PAGE_SIZE,
    fetch: async (url, { headers, ...init }) => {
      const isWrite = init.method !== 'GET' && csrfToken !== undefined;
      const isOwn = init.method === 'GET' && token === undefined;
      const answer =
        (isOwn ? await takeBegun(url, chosen, init.signal) : undefined) ??
        (await fetch(url, {
          ...init,
          headers: { ...headers, ...(isWrite ? { 'x-csrf-token': csrfToken } : {}) },
          credentials: 'same-origin',
          cache: 'no-store',
        }));
      if (answer.status === 401) onSignedOut?.();
      return answer;
    },
  });
}
