export { Client, type ClientSettings, connect, type Reply } from './client.ts';
export type { Fetch, FetchAnswer, FetchInit } from './fetch.ts';
export { type FollowSettings, followedPastStops, isAwayStatus } from './followed.ts';
export type { Frame } from './frames.ts';
export type { LiveSettings, LiveState } from './live.ts';
export type {
  AnswerTo,
  BodyFor,
  CallOptions,
  Given,
  ItemOf,
  ListName,
  OperationName,
  StreamName,
  TriedName,
} from './operations.ts';
export type { RejectionCode } from './operations.ts';
export {
  readRejection,
  RejectionError,
  rejectionOf,
  type RejectionRecord,
  UnreachableError,
} from './rejection.ts';
export { unjudged } from './request.ts';
export { codeOf } from './retry.ts';
