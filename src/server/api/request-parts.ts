import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

type Texts = Readonly<Record<string, string>>;

/** What is asked of a request, whoever read it: the framework, or `direct.ts`. */
export interface ApiRequest {
  readonly id: string;
  readonly raw: IncomingMessage;
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly url: string;
  readonly protocol: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly routeOptions: { readonly url?: string | undefined };
}

/** What is done with an answer before it is written. */
export interface ApiReply {
  readonly raw: ServerResponse;
  readonly request: Pick<ApiRequest, 'id'>;
  header(name: string, value: string): unknown;
  hasHeader(name: string): boolean;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  /** From here on nobody else answers. */
  hijack(): unknown;
}

/** The router cuts paths into texts. */
export function paramsOf(request: Pick<ApiRequest, 'params'>): Texts {
  return request.params as Texts;
}

/** One text each, which `queryRejection` sees to: a name that is given twice has several. */
export function queryOf(request: Pick<ApiRequest, 'query'>): Texts {
  return request.query as Texts;
}
