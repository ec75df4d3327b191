/**
 * What the first page asks of the control plane in any case, asked before the rest of the application runs: who this is, and where the page
 * shows deployments the first of them. Imported first. An answer is taken once, while it is young and for the tenant it was asked for; otherwise
 * the question is asked as if nothing had been begun.
 */
interface Begun {
  readonly at: number;
  readonly answer: Promise<Response | undefined>;
  readonly stop: AbortController;
}

/** Which tenant a platform administrator chose last; a preference, not a credential. */
export const TENANT_KEY = 'berth.tenant';

/** More than a screen shows; soon there. */
export const FIRST_ROWS = 50;

const YOUNG_MS = 5000;
const SESSION = '/api/v1/session';
const DEPLOYMENTS = `/api/v1/deployments?limit=${FIRST_ROWS}`;
const SHOW_DEPLOYMENTS: ReadonlySet<string> = new Set(['/', '/deployments']);

const begun = new Map<string, Begun>();

/** By a word that no name of a tenant is: who chose none asks for their own. */
const keyOf = (url: string, tenant: string | undefined): string => `${tenant ?? ''} ${url}`;

function begin(url: string, tenant: string | undefined): void {
  const stop = new AbortController();
  const asked = fetch(url, {
    headers: { accept: 'application/json', ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }) },
    credentials: 'same-origin',
    cache: 'no-store',
    signal: stop.signal,
  });
  const answer = asked.catch(() => undefined);
  begun.set(keyOf(url, tenant), { at: performance.now(), answer, stop });
}

function isYoung(one: Begun | undefined): one is Begun {
  return one !== undefined && performance.now() - one.at <= YOUNG_MS;
}

/** What the session says of a tenant that is gone is acted upon; what a list says of it is not. */
function counts(url: string, { ok }: Response): boolean {
  return ok || url === SESSION;
}

/** The answer to this, if it was asked for the tenant that was chosen then. It ends with the signal, as one that is asked now. */
export async function takeBegun(
  url: string,
  tenant: string | undefined,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const key = keyOf(url, tenant);
  const one = begun.get(key);
  begun.delete(key);
  if (!isYoung(one)) return undefined;
  signal.addEventListener('abort', () => one.stop.abort(signal.reason), { once: true });
  if (signal.aborted) one.stop.abort(signal.reason);
  const answer = await one.answer;
  return answer !== undefined && counts(url, answer) ? answer : undefined;
}

/** Whether the first deployments were asked for before there was a stream of events to keep them up to date. */
export function hasBegunDeployments(): boolean {
  return [...begun].some(([key, one]) => key.endsWith(` ${DEPLOYMENTS}`) && isYoung(one));
}

/** Nothing is taken over from one session into the next. */
export function forgetBegun(): void {
  begun.clear();
}

/** For the page that is opened. */
export function beginPage(path: string, tenant: string | undefined): void {
  begin(SESSION, tenant);
  if (SHOW_DEPLOYMENTS.has(path)) begin(DEPLOYMENTS, tenant);
}
