import { RejectionError, UnreachableError } from '../../../sdk/index.ts';

export interface SignInProblem {
  /** What happened, for a person. */
  readonly title: string;
  /** What to do. */
  readonly advice: string;
  /** The page of the refusal. */
  readonly doc?: { readonly code: string; readonly href: string };
}

const WELL_FORMED = /^berth_pat_/;

function ofRejection({ status, rejection }: RejectionError, token: string): SignInProblem {
  const doc = { code: rejection.code, href: rejection.doc };
  if (status === 401)
    return {
      title: WELL_FORMED.test(token)
        ? 'This token is not accepted.'
        : 'This does not look like a token of Berth.',
      advice: WELL_FORMED.test(token)
        ? 'It is mistyped, has expired, was revoked, or is of another control plane. Whoever gave it to you can make a new one.'
        : 'Tokens begin with berth_pat_. Paste it whole, without quotes.',
      doc,
    };
  if (status === 403)
    return {
      title: 'This token may not use the dashboard.',
      advice: 'Its role is for machines. Sign in with a token of a person, such as viewer or deployer.',
      doc,
    };
  if (status === 429) return { title: 'Too many sign-ins with this token.', advice: rejection.why, doc };
  if (status >= 500)
    return {
      title: 'The control plane cannot answer now.',
      advice: `${rejection.why} Try again in a moment.`,
      doc,
    };
  return { title: 'The control plane refused.', advice: rejection.why, doc };
}

/** What went wrong with a sign-in, in words that say what to do. */
export function signInProblem(error: unknown, token: string): SignInProblem {
  if (error instanceof RejectionError) return ofRejection(error, token);
  if (error instanceof UnreachableError)
    return {
      title: 'The control plane does not answer.',
      advice: 'It may be stopped, or the network in between. Your token was not looked at; try again.',
    };
  return {
    title: 'The sign-in did not work.',
    advice: error instanceof Error ? error.message : 'Try again.',
  };
}
