import type { CatalogueEntry } from '../../../core/rejections/entry.ts';
import { html, type Html } from './html.ts';

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

export function statusText(status: number): string {
  return `${status} ${REASONS[status] ?? ''}`.trim();
}

export function statusBadge(entry: CatalogueEntry): Html {
  const text = entry.alsoStatus === undefined ? `${entry.status}` : `${entry.status} / ${entry.alsoStatus}`;
  return html`<span class="status">${text}</span>`;
}

/** What the caller should do next, as far as the status decides it. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'Get a valid credential, then send the request again.',
  403: 'Sending the same request with the same credential cannot succeed.',
  404: 'Correct the reference; the same request succeeds only once the thing it names exists.',
  409: 'Read the current state, decide again, then send a changed request.',
  410: 'Do not repeat it; read the current list and start from there.',
  412: 'Read the record again and repeat the change on top of it.',
  429: 'Wait for the time in Retry-After, then send the same request again.',
  500: 'Do not repeat it; report the X-Request-ID of the answer.',
  501: 'Do not repeat it; no form of the request can succeed.',
  503: 'The request itself is fine: send it again, with growing pauses.',
};

export function adviceFor(status: number): string {
  return ADVICE[status] ?? 'Fix the named field and send the request again; unchanged it fails again.';
}
