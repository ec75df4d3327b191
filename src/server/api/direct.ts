import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { ApiContext } from './api-context.ts';
import { isShort } from './early-refusal.ts';
import { requestIdOf } from './headers.ts';
import { faultRejection, framingRejection } from './refusals.ts';
import { sendRejection } from './replies.ts';
import type { ApiReply, ApiRequest } from './request-parts.ts';
import type { Route } from './route.ts';

type Texts = Readonly<Record<string, string>>;

const NONE: Texts = Object.freeze({});
/** Means itself in every part of an address: there is nothing to decode. */
const PLAIN_SEGMENT = /^[A-Za-z0-9._~-]{1,512}$/;
const JSON_TYPES: ReadonlySet<string | undefined> = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
]);

class DirectRequest implements ApiRequest {
  readonly id: string;
  readonly raw: IncomingMessage;
  readonly headers: IncomingMessage['headers'];
  readonly params: Texts;
  readonly query = NONE;
  readonly routeOptions: ApiRequest['routeOptions'];
  body: unknown;

  constructor(raw: IncomingMessage, id: string, params: Texts, routeOptions: ApiRequest['routeOptions']) {
    this.raw = raw;
    this.headers = raw.headers;
    this.id = id;
    this.params = params;
    this.routeOptions = routeOptions;
  }

  get method(): string {
    return this.raw.method ?? '';
  }

  get url(): string {
    return this.raw.url ?? '';
  }

  get protocol(): string {
    return 'encrypted' in this.raw.socket ? 'https' : 'http';
  }
}

class DirectReply implements ApiReply {
  readonly raw: ServerResponse;
  readonly request: DirectRequest;
  #headers: Record<string, string> | undefined;

  constructor(raw: ServerResponse, request: DirectRequest) {
    this.raw = raw;
    this.request = request;
  }

  header(name: string, value: string): this {
    this.#headers ??= {};
    this.#headers[name] = value;
    return this;
  }

  hasHeader(name: string): boolean {
    return this.#headers?.[name] !== undefined;
  }

  getHeaders(): Texts {
    return this.#headers ?? NONE;
  }

  hijack(): this {
    return this;
  }
}

interface Target {
  readonly route: Route;
  /** As the framework names it in logs. */
  readonly options: ApiRequest['routeOptions'];
  /** Of the last segment, where that is one. */
  readonly param?: string;
}

interface Targets {
  /** Null: the framework's, although its last segment could be a parameter of another. */
  readonly exact: Map<string, Target | null>;
  /** By all but the last segment. */
  readonly under: Map<string, Target>;
}

/** A whole answer in JSON, to a request whose body, if it has one, is JSON of a known length. */
function isDirect({ method, body, success, lasts, socket }: Route): boolean {
  if (lasts !== undefined || socket !== undefined || success.media !== undefined) return false;
  return method === 'GET' ? body === undefined : body !== undefined && body.optional !== true;
}

function targetsOf(
  routes: readonly Route[],
  pathOf: (path: string) => string,
): ReadonlyMap<string | undefined, Targets> {
  const byMethod = new Map<string, Targets>();
  for (const route of routes) {
    const [, front = '', param] = /^([^{]*?)(?:\{([A-Za-z]+)\})?$/.exec(route.path) ?? [];
    if (front === '') continue;
    const targets = byMethod.get(route.method) ?? { exact: new Map(), under: new Map() };
    byMethod.set(route.method, targets);
    const options = { url: pathOf(route.path) };
    if (param === undefined) targets.exact.set(front, isDirect(route) ? { route, options } : null);
    else if (isDirect(route)) targets.under.set(front, { route, options, param });
  }
  return byMethod;
}

export interface DirectParts {
  /** Headers of every answer; false: it was refused and is answered. */
  readonly begin: (request: ApiRequest, reply: ApiReply) => boolean;
  readonly serve: (context: ApiContext, route: Route, request: ApiRequest, reply: ApiReply) => unknown;
  /** A path as the framework spells it. */
  readonly pathOf: (path: string) => string;
}

/**
 * Requests of the plainest form past the framework: a whole address without escapes, query or body, or with a short body of JSON whose
 * length is known. Routing, hooks and parsers of bodies of the framework cost such a request more than who asks and what for. Every
 * other request, and every one while the server closes, is the framework's, whose answers are the same.
 */
export class DirectRoutes {
  readonly #context: ApiContext;
  readonly #parts: DirectParts;
  readonly #byMethod: ReadonlyMap<string | undefined, Targets>;
  #closing = false;

  constructor(context: ApiContext, parts: DirectParts) {
    this.#context = context;
    this.#parts = parts;
    this.#byMethod = targetsOf(context.options.routes, parts.pathOf);
  }

  /** Before what listens already, which gets what is not taken here. */
  follow(server: Server): void {
    const listeners = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (raw: IncomingMessage, response: ServerResponse) => {
      if (this.#closing || !this.#take(raw, response))
        for (const listener of listeners) listener.call(server, raw, response);
    });
  }

  close(): void {
    this.#closing = true;
  }

  #take(raw: IncomingMessage, response: ServerResponse): boolean {
    const target = this.#find(raw.method, raw.url ?? '');
    if (target === undefined) return false;
    const hasBody = raw.method !== 'GET';
    if (!(hasBody ? this.#isShortJson(raw) : hasNoBody(raw))) return false;
    const { options } = this.#context;
    const { param, options: routeOptions, route } = target;
    const url = raw.url ?? '';
    const params = param === undefined ? NONE : paramsFor(param, url.slice(url.lastIndexOf('/') + 1));
    const id = requestIdOf(raw.headers['x-request-id'], options.freshId);
    const request = new DirectRequest(raw, id, params, routeOptions);
    const reply = new DirectReply(response, request);
    if (!this.#parts.begin(request, reply)) return true;
    if (hasBody) this.#read(route, request, reply);
    else this.#run(route, request, reply);
    return true;
  }

  #find(method: string | undefined, url: string): Target | undefined {
    const targets = this.#byMethod.get(method);
    if (targets === undefined) return undefined;
    const exact = targets.exact.get(url);
    if (exact !== undefined) return exact ?? undefined;
    const last = url.lastIndexOf('/') + 1;
    return PLAIN_SEGMENT.test(url.slice(last)) ? targets.under.get(url.slice(0, last)) : undefined;
  }

  #isShortJson({ headers }: IncomingMessage): boolean {
    const length = Number(headers['content-length']);
    return (
      length > 0 &&
      length <= this.#context.options.limits.bodyBytes &&
      isShort(length) &&
      JSON_TYPES.has(headers['content-type']) &&
      headers['transfer-encoding'] === undefined
    );
  }

  #read(route: Route, request: DirectRequest, reply: DirectReply): void {
    const { raw } = request;
    const chunks: Buffer[] = [];
    let isOver = false;
    raw.on('data', (chunk: Buffer) => chunks.push(chunk));
    raw.on('end', () => {
      isOver = true;
      request.body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      this.#run(route, request, reply);
    });
    raw.on('error', () => {
      if (isOver) return;
      isOver = true;
      sendRejection(this.#context, request, reply.header('connection', 'close'), framingRejection());
    });
  }

  #run(route: Route, request: DirectRequest, reply: DirectReply): void {
    const failed = (error: unknown): void => {
      const rejection = faultRejection(this.#context, request, error);
      if (reply.raw.headersSent) reply.raw.destroy();
      else sendRejection(this.#context, request, reply, rejection);
    };
    try {
      const served = this.#parts.serve(this.#context, route, request, reply);
      if (served instanceof Promise) served.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** A member whose name is in the code costs a tenth of one whose name is a value, and this is what nearly all parameters are called. */
function paramsFor(name: string, value: string): Texts {
  return name === 'name' ? { name: value } : { [name]: value };
}

function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}
