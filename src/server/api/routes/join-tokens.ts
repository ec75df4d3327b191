import { JOIN_TOKENS } from '../../../core/operations/join-tokens.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import {
  createJoinToken,
  joinTokenView,
  type JoinAddress,
  listJoinTokens,
} from '../../writes/nodes/join-tokens.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import { pageOf, pageReply, pageRequest } from '../paging.ts';
import { type Route, type RouteRequest, serve } from '../route.ts';
import { plainReply } from '../write-reply.ts';

export function joinTokenRoutes(
  nodes: NodeAdmission,
  address: (request: RouteRequest) => JoinAddress,
): Route[] {
  return [
    serve(JOIN_TOKENS.create, async (request) =>
      plainReply(await createJoinToken(nodes, request.caller, request.body, address(request))),
    ),
    serve(JOIN_TOKENS.list, ({ caller, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const all = listJoinTokens(nodes.admission, caller);
      return pageReply(
        page,
        JOIN_TOKENS.list.path,
        query,
        pageOf(page, all, ({ id }) => id),
        ({ id }) => id,
        ({ record }) => joinTokenView(record),
      );
    }),
  ];
}
