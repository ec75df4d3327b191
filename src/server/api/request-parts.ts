import type { FastifyRequest } from 'fastify';

type Texts = Readonly<Record<string, string>>;

/** The router cuts paths into texts. */
export function paramsOf(request: FastifyRequest): Texts {
  return request.params as Texts;
}

/** One text each, which `queryRejection` sees to: a name that is given twice has several. */
export function queryOf(request: FastifyRequest): Texts {
  return request.query as Texts;
}
