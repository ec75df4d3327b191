import { joinToken, joinTokenCreated } from '../contract/answers/node.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { joinTokenBody } from '../contract/node-bodies.ts';
import { LIST_QUERY } from './queries.ts';
import { operation } from './operation.ts';

export const JOIN_TOKENS = {
  create: operation({
    method: 'POST',
    path: '/api/v1/join-tokens',
    summary: 'Make a token that enrols one node, once; it is shown in this answer and never again',
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    body: { shape: joinTokenBody, optional: true },
    codes: ['node_name_invalid', 'token_invalid'],
    success: {
      status: 201,
      description: 'The token and the line to paste on the host.',
      answer: joinTokenCreated,
    },
  }),
  list: operation({
    method: 'GET',
    path: '/api/v1/join-tokens',
    summary: 'List join tokens that can still be used; never the tokens themselves',
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: {
      status: 200,
      description: 'Join tokens, by id.',
      answer: listOf(joinToken),
    },
  }),
};
