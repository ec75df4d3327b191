import { type Client, connect } from '../../sdk/index.ts';

export interface ApiSettings {
  /** The tenant acted for, unless a call names another. */
  readonly tenant?: string;
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
export function apiOf({ tenant, token, csrfToken, onSignedOut }: ApiSettings = {}): Client {
  return connect({
    url: '',
    tenant,
    token,
    pageSize: PAGE_SIZE,
    fetch: async (url, { headers, ...init }) => {
      const isWrite = init.method !== 'GET' && csrfToken !== undefined;
      const answer = await fetch(url, {
        ...init,
        headers: { ...headers, ...(isWrite ? { 'x-csrf-token': csrfToken } : {}) },
        credentials: 'same-origin',
        cache: 'no-store',
      });
      if (answer.status === 401) onSignedOut?.();
      return answer;
    },
  });
}
