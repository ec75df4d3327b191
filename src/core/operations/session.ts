import { session, sessionEnded } from '../contract/answers/access.ts';
import { operation } from './operation.ts';

export const SESSION = {
  open: operation({
    method: 'POST',
    path: '/api/v1/session',
    summary: 'Open a browser session for the token in Authorization; answers with its cookie',
    tag: 'Session',
    permission: 'read',
    tenant: 'credential',
    codes: [],
    success: { status: 201, description: 'Opened; the cookie is in Set-Cookie.', answer: session },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/session',
    summary: 'Who calls, for which tenant, and what the role permits; in a session also its CSRF token',
    tag: 'Session',
    permission: 'read',
    tenant: 'credential',
    codes: [],
    success: { status: 200, description: 'The caller.', answer: session },
  }),
  close: operation({
    method: 'DELETE',
    path: '/api/v1/session',
    summary: 'Sign out: end the session of the cookie',
    tag: 'Session',
    permission: 'read',
    tenant: 'credential',
    codes: [],
    success: {
      status: 200,
      description: 'Ended; false when there was none.',
      answer: sessionEnded,
    },
  }),
};
