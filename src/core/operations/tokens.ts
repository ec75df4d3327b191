import { tokenBody } from '../contract/access-bodies.ts';
import { token, tokenWritten } from '../contract/answers/access.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { LIST_QUERY } from './queries.ts';
import { operation } from './operation.ts';

export const TOKENS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/tokens',
    summary: 'List the tokens of the tenant; never their secrets',
    tag: 'Tokens',
    permission: 'tokens.manage',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: { status: 200, description: 'Tokens, by id.', answer: listOf(token) },
  }),
  create: operation({
    method: 'POST',
    path: '/api/v1/tokens',
    summary: 'Create a token; it is shown in this answer and never again',
    tag: 'Tokens',
    permission: 'tokens.manage',
    tenant: 'credential',
    body: { shape: tokenBody },
    codes: ['token_invalid'],
    success: { status: 201, description: 'The token.', answer: tokenWritten },
  }),
  revoke: operation({
    method: 'DELETE',
    path: '/api/v1/tokens/{id}',
    summary: 'Revoke a token',
    tag: 'Tokens',
    permission: 'tokens.manage',
    tenant: 'credential',
    codes: ['token_not_found', 'revision_mismatch', 'header_invalid'],
    success: { status: 200, description: 'Revoked.', answer: tokenWritten },
  }),
};
