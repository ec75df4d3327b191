import type { RejectionCode } from '../../src/core/rejections/catalogue.ts';

/** Codes that no route answers. A route that lists one of them, or a case that reaches one, fails the run. */
export const PENDING: Readonly<Record<string, readonly RejectionCode[]>> = {
  'the agent channel: told over its socket': ['agent_session_stale', 'agent_version_unsupported'],
  'the router in front of cells, which answers them itself: test/system/cells.test.ts': [
    'cell_unavailable',
    'cell_unknown',
  ],
};
