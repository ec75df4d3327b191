import type { KvChangeBatch, Watch, WatchHandlers } from '../kv.ts';
import type { EtcdWatch, WatchFollower } from './watch.ts';

export interface Following {
  /** The watch of the whole store; its position is at or before `afterRevision`. */
  readonly leader: EtcdWatch;
  readonly prefix: string;
  readonly afterRevision: number;
  readonly handlers: WatchHandlers;
  /** A watch on a stream of its own, for when the leader is closed. */
  readonly resume: (afterRevision: number) => Watch;
}

/**
 * A watch of a part of the store that the watch of the whole store tells: etcd sends each change to a control plane once, and it is decoded
 * once. When that watch ends, as it does when a view is listed again, this one goes on by itself from the last revision it was told.
 */
export class FollowingWatch implements Watch, WatchFollower {
  readonly #following: Following;
  #position: number;
  #own: Watch | undefined;
  #open = true;

  constructor(following: Following) {
    this.#following = following;
    this.#position = following.afterRevision;
    following.leader.addFollower(this);
  }

  close(): void {
    this.#open = false;
    this.#following.leader.removeFollower(this);
    this.#own?.close();
  }

  onBatch({ revision, changes }: KvChangeBatch): void {
    if (!this.#open || revision <= this.#position) return;
    this.#position = revision;
    const { prefix, handlers } = this.#following;
    const wanted = changes.filter(({ key }) => key.startsWith(prefix));
    if (wanted.length === 0) return;
    try {
      handlers.onBatch({ revision, changes: wanted });
    } catch (error) {
      this.close();
      handlers.onLost(`the watcher failed on revision ${revision}: ${String(error)}`);
    }
  }

  onLeft(lost?: string): void {
    if (!this.#open) return;
    if (lost === undefined) this.#own = this.#following.resume(this.#position);
    else {
      this.#open = false;
      this.#following.handlers.onLost(lost);
    }
  }
}
