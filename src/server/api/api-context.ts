import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { AccessDependencies } from '../access/authenticate.ts';
import type { SessionSettings } from '../access/session.ts';
import type { Connections } from './limits/connections.ts';
import type { StreamCounts } from './limits/streams.ts';
import type { UnreadAnswers } from './limits/unread.ts';
import type { ApiMetrics } from './metrics.ts';
import type { RateLimit, RateLimiter } from './rate-limit.ts';
import type { Route } from './route.ts';
import type { AuditedRefusal } from '../journal/audit-files.ts';
import type { Guard } from '../store/kv.ts';

export interface ApiOptions {
  readonly access: AccessDependencies;
  readonly sessions: SessionSettings;
  readonly routes: readonly Route[];
  /** Asked for a path that no route has, before it is refused. */
  readonly page?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;
  readonly limits: {
    readonly bodyBytes: number;
    /** Of all bodies at a time; absent: as many as a large heap takes. */
    readonly bodyBudget?: number;
    readonly jsonDepth: number;
    readonly rate: RateLimit;
  };
  /** Also asked by what is beside the interface; absent: one of its own. */
  readonly limiter?: RateLimiter;
  /** Absent: any number. */
  readonly connections?: Connections;
  readonly streams?: StreamCounts;
  readonly unread?: UnreadAnswers;
  readonly freshId: () => string;
  /** Configured base URL; absent: from the Host header of each request. */
  readonly baseUrl?: string;
  readonly https?: { readonly cert: string; readonly key: string };
  readonly log: Logger;
  /** Into the same log, members that are text already; absent: they are read again, for tests of single parts. */
  readonly line?: (members: string, message: string) => void;
  readonly metrics: ApiMetrics;
  /** Told of every request that was refused for who sent it. */
  readonly onRefusal?: (refusal: AuditedRefusal) => void;
  /** False until the store has been read: then every request is refused rather than answered from nothing. */
  readonly ready: () => boolean;
  /**
   * Where several control planes share the store: waits until what any of them acknowledged is seen here. False: the store cannot
   * be asked now. Absent: this process is the only one and sees its own writes.
   */
  readonly fresh?: () => Promise<boolean>;
  /** What a commit proves with that no other control plane has acknowledged anything since; undefined: `fresh` has to be waited for. */
  readonly sole?: () => Guard | undefined;
}

export interface ApiContext {
  readonly options: ApiOptions;
  readonly limiter: RateLimiter;
  readonly streams: StreamCounts;
  readonly unread: UnreadAnswers;
}
