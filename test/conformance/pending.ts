import type { RejectionCode } from '../../src/core/rejections/catalogue.ts';

/** Codes whose feature has no route yet. A route that lists one of them, or a case that reaches one, fails the run. */
export const PENDING: Readonly<Record<string, readonly RejectionCode[]>> = {
  'the agent channel: told over its socket': ['agent_session_stale', 'agent_version_unsupported'],
};
