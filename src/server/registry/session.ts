import { ownFiles } from '../own-files.ts';
import { isRecord, parseJson } from '../../core/model/values.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Challenge } from './challenge.ts';
import type { RegistryCredentials } from './credentials.ts';
import type { DialAnswer, Dialer, DialRequest } from './dialer.ts';
import { parseUrl } from './destinations.ts';
import { ACCEPT } from './manifest.ts';

/** Why a registry gave no answer to judge by. */
export type Obstacle =
  | 'silent'
  | 'credentials_missing'
  | 'credentials_refused'
  /** It refused without asking for any. */
  | 'forbidden'
  | 'realm_refused'
  | 'store_unavailable'
  | 'store_denied';

export type SessionAnswer = DialAnswer | { readonly ok: false; readonly obstacle: Obstacle };

export type CredentialAnswer =
  | {
      readonly available: true;
      readonly credentials: RegistryCredentials | undefined;
      /** The store refuses to say whether there are any. */
      readonly denied?: boolean;
    }
  | { readonly available: false };

export interface SessionOptions {
  readonly dialer: Dialer;
  readonly registry: URL;
  readonly repository: string;
  readonly tenantId: TenantId;
  readonly credentials: Promise<CredentialAnswer>;
  readonly authHosts: Readonly<Record<string, readonly string[]>>;
  readonly timeoutMs: number;
  /** Ends the whole conversation. */
  readonly signal: AbortSignal;
}

/** One conversation with one registry about one repository. Its authorisation goes to that registry's origin only. */
export interface RegistrySession {
  request(
    method: 'GET' | 'HEAD',
    path: string,
    bounds?: Pick<DialRequest, 'maxBytes'>,
  ): Promise<SessionAnswer>;
}

const MAX_REDIRECTS = 2;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_TOKEN_ANSWER_BYTES = 64 * 1024;
/** Visible ASCII: nothing that could break out of a header. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
/** With the first challenge: the list of public suffixes is long. */
const answering = ownFiles.loader('what answers registries', () => import('./challenge.ts'));

export function createRegistrySession(options: SessionOptions): RegistrySession {
  const { dialer, registry } = options;
  const common = { key: options.tenantId, timeoutMs: options.timeoutMs, signal: options.signal };
  let authorization: string | undefined;

  async function follow(
    method: 'GET' | 'HEAD',
    path: string,
    bounds: Pick<DialRequest, 'maxBytes'>,
  ): Promise<SessionAnswer> {
    let url = new URL(path, registry);
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const own = url.origin === registry.origin;
      const headers = { accept: ACCEPT, ...(own && authorization !== undefined ? { authorization } : {}) };
      const request: DialRequest = {
        ...common,
        ...bounds,
        method,
        headers,
        ...(hop === 0 ? {} : { sentBy: registry }),
      };
      const answer = await dialer.request(url, request);
      if (!answer.ok) return { ok: false, obstacle: 'silent' };
      if (!REDIRECTS.has(answer.status)) return answer;
      const next = parseUrl(answer.headers.location ?? '', url);
      if (next === undefined || answer.headers.location === undefined) break;
      url = next;
    }
    return { ok: false, obstacle: 'silent' };
  }

  async function fetchToken(
    challenge: Challenge,
    { credentials, denied }: Known,
  ): Promise<Obstacle | undefined> {
    const { trustedRealm } = await answering();
    const realm = trustedRealm(challenge.params.get('realm') ?? '', registry, options.authHosts);
    if (realm === undefined) return 'realm_refused';
    const service = challenge.params.get('service');
    if (service !== undefined) realm.searchParams.set('service', service);
    // Not the scope of the challenge: the registry must not be able to ask for more than a pull of this repository.
    realm.searchParams.set('scope', `repository:${options.repository}:pull`);
    const headers: Record<string, string> =
      credentials === undefined ? {} : { authorization: basic(credentials) };
    const request = { ...common, headers, sentBy: registry, maxBytes: MAX_TOKEN_ANSWER_BYTES };
    const answer = await dialer.request(realm, request);
    if (!answer.ok) return 'silent';
    if (isRefusal(answer)) return refusalOf({ credentials, ...(denied === undefined ? {} : { denied }) });
    const document = answer.status === 200 ? parseJson(answer.body.toString('utf8')) : undefined;
    const token = isRecord(document) ? (document['token'] ?? document['access_token']) : undefined;
    if (typeof token !== 'string' || !TOKEN.test(token)) return 'silent';
    authorization = `Bearer ${token}`;
    return undefined;
  }

  /** Sets the authorisation that the challenge asks for, or says why there is none. */
  async function authorise(answer: DialAnswer): Promise<Obstacle | undefined> {
    const { parseChallenges } = await answering();
    const challenges = parseChallenges(answer.headers['www-authenticate'] ?? '');
    const bearer = challenges.find((challenge) => challenge.scheme === 'bearer');
    const wantsBasic = challenges.some((challenge) => challenge.scheme === 'basic');
    if (bearer === undefined && !wantsBasic) return 'silent';
    const known = await options.credentials;
    if (!known.available) return 'store_unavailable';
    if (bearer !== undefined) return fetchToken(bearer, known);
    if (known.credentials === undefined) return refusalOf(known);
    authorization = basic(known.credentials);
    return undefined;
  }

  return {
    async request(method, path, bounds = {}) {
      let answer = await follow(method, path, bounds);
      // A challenge from where a redirect led is no business of this registry's credentials.
      if (
        answer.ok &&
        answer.status === 401 &&
        authorization === undefined &&
        answer.url.origin === registry.origin
      ) {
        const obstacle = await authorise(answer);
        if (obstacle !== undefined) return { ok: false, obstacle };
        answer = await follow(method, path, bounds);
      }
      if (!answer.ok || !isRefusal(answer)) return answer;
      if (answer.url.origin !== registry.origin) return { ok: false, obstacle: 'silent' };
      const known = await options.credentials;
      if (!known.available) return { ok: false, obstacle: 'store_unavailable' };
      if (authorization === undefined && known.denied !== true) return { ok: false, obstacle: 'forbidden' };
      return { ok: false, obstacle: refusalOf(known) };
    },
  };
}

type Known = Pick<Extract<CredentialAnswer, { available: true }>, 'credentials' | 'denied'>;

/** What a registry that refuses us would have wanted. */
function refusalOf({ credentials, denied }: Known): Obstacle {
  if (denied === true) return 'store_denied';
  return credentials === undefined ? 'credentials_missing' : 'credentials_refused';
}

function isRefusal(answer: DialAnswer): boolean {
  return answer.status === 401 || answer.status === 403;
}

function basic(credentials: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password.reveal()}`, 'utf8').toString('base64')}`;
}
