import { certificateRevoked } from '../contract/answers/ingress.ts';
import { operation } from './operation.ts';

export const INGRESS = {
  revoke: operation({
    method: 'POST',
    path: '/api/v1/ingress/{host}/revoke',
    summary:
      'Have the authority revoke the certificate of a host; ingress nodes get another one, with another key',
    tag: 'Deployments',
    permission: 'nodes.manage',
    tenant: 'credential',
    codes: [
      'ingress_host_not_found',
      'ingress_certificate_not_issued',
      'certificate_not_revoked',
      'agent_unreachable',
    ],
    success: {
      status: 200,
      description: 'What was revoked; it is served until the next one is there.',
      answer: certificateRevoked,
    },
  }),
};
