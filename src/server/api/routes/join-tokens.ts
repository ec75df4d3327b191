import { joinToken, joinTokenCreated } from '../../../core/contract/answers/node.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import {
  createJoinToken,
  joinTokenBody,
  joinTokenView,
  type JoinAddress,
  listJoinTokens,
} from '../../admission/join-tokens.ts';
import type { NodeAdmission } from '../../admission/node-view.ts';
import { pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Route, type RouteRequest, route } from '../route.ts';
import { plainReply } from './nodes.ts';

export function joinTokenRoutes(
  nodes: NodeAdmission,
  address: (request: RouteRequest) => JoinAddress,
): Route[] {
  return [
    route({
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
      handle: async (request) =>
        plainReply(
          await createJoinToken(
            nodes,
            request.caller,
            request.body as Draft<typeof joinTokenBody> | undefined,
            address(request),
          ),
        ),
    }),
    route({
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
      handle: ({ caller, query }) => {
        const page = pageRequest(query);
        if (isRejection(page)) return page;
        const { after } = page;
        const read = listJoinTokens(nodes.admission, caller).filter(
          ({ id }) => after === undefined || id > after,
        );
        return pageReply(
          page,
          '/api/v1/join-tokens',
          query,
          read.slice(0, page.limit + 1),
          ({ id }) => id,
          ({ record }) => joinTokenView(record),
        );
      },
    }),
  ];
}
