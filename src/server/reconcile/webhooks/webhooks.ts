import type { EventRecord } from '../../../core/model/event.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import {
  type DeadLetter,
  HOLD_DAYS,
  type WebhookDelivery,
  type WebhookRecord,
} from '../../../core/model/webhook.ts';
import {
  isGivenUp,
  judge,
  type Outcome,
  type PostEvent,
  retryDelayMs,
  type Verdict,
} from '../../../core/plan/webhooks/delivery.ts';
import { lowestAt } from '../../ids.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { KeyedState, Reconciler, type ReconcileRequest } from '../reconciler.ts';
import { isBefore, type JournalEvent } from './backlog.ts';
import { DeliveryRecords } from './delivery-records.ts';
import { type Hook, type Lane, laneOf } from './hook.ts';
import { JournalWatches } from './journal-watches.ts';
import {
  deadLetterBytes,
  orderedDeadLetters,
  removeDeadLetters,
  roomForDeadLetters,
} from './dead-letters.ts';

export interface WebhookSending {
  readonly post: PostEvent;
  readonly counted: (outcome: Outcome) => void;
  /** Between 0 and 1; absent: by chance. */
  readonly random?: () => number;
}

const HOLD_MS = HOLD_DAYS * 86_400_000;
/** Requests under way at a time: of all, and of one tenant. */
const CONCURRENCY = 64;
const PER_TENANT = 4;
const BUSY_MS = 200;
/** Sent before others have their turn, and before where the webhook is in the journal is stored. */
const BURST = 32;
const COMMIT_EVERY = 16;
/** How old the number of events that wait may be while nothing is sent. */
const TELL_MS = 5_000;
/** Events that are held are looked through for those that are too old. */
const EXPIRY_MS = 600_000;
/** Attempts of one event after which it is said. */
const FAILING_AFTER = 5;
const DEAD_AT_ONCE = 40;
/** Longer than this no wait can have been. */
const MAX_WAIT_MS = 3_600_000;

type Failed = Extract<Verdict, { readonly reason: string }>;
/**
 * Sends the events of a tenant to its webhooks, from the journal: in its order, at least once, one at a time for each webhook. Where a webhook is in
 * the journal is stored after the receiver has taken an event, so that a crash in between sends it again, with the same id.
 */
export class WebhooksController extends Reconciler {
  readonly #sending: WebhookSending;
  readonly #records: DeliveryRecords;
  readonly #lanes = new KeyedState<Lane>();
  readonly #watches = new JournalWatches({
    onEvents: (tenant, revision, events) => this.#arrived(tenant, revision, events),
    onLost: (tenantId) => {
      this.#lanes.forget(tenantId);
      this.adopt(tenantId);
    },
  });
  readonly #underWay = new Map<TenantId, number>();
  #ending = new AbortController();

  constructor(deps: ControllerDeps, sending: WebhookSending) {
    super(deps, { name: 'webhooks', problem: 'sending to a webhook failed', concurrency: CONCURRENCY });
    this.#sending = sending;
    this.#records = new DeliveryRecords(deps, (tenant, transaction) => this.commit(tenant, transaction));
  }

  protected take(change: ViewChange): void {
    if (change.kind === 'webhooks') this.add(change.tenantId, change.id);
    if (change.kind === 'webhook-orders')
      this.add(change.tenantId, idOf('webhooks', segmentsOf('webhook-orders', change.id)[0]));
  }

  adopt(tenantId: TenantId): void {
    const tenant = this.deps.store.forTenant(tenantId);
    for (const { id } of tenant.list('webhooks')) this.add(tenantId, id);
    // Of webhooks that are gone, and left dead letters.
    for (const { id } of tenant.list('webhook-deliveries'))
      this.add(tenantId, idOf('webhooks', segmentsOf('webhook-deliveries', id)[0]));
  }

  protected override forget(tenantId?: TenantId): void {
    this.#lanes.forget(tenantId);
    this.#watches.close(tenantId);
  }

  override start(): void {
    this.#ending = new AbortController();
    super.start();
  }

  /** What is under way is cut off, and sent again by whoever sends next. */
  override async stop(): Promise<void> {
    this.#ending.abort();
    await super.stop();
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const tenant = this.deps.store.forTenant(request.tenantId);
    const stored = tenant.get('webhooks', request.id);
    await this.#removeLeftovers(tenant, request.id, stored?.record.id);
    if (stored === undefined) {
      this.#lanes.delete(request.key);
      if (tenant.list('webhooks', { limit: 1 }).length === 0) this.#watches.close(request.tenantId);
      return;
    }
    const hook = this.#hookOf(request, tenant, stored);
    await this.#inTurn(hook.lane, () => this.#advance(hook));
  }

  #hookOf(request: ReconcileRequest, tenant: TenantStore, stored: Stored<WebhookRecord>): Hook {
    const madeAt = this.deps.store.getGlobal('tenants', request.tenantId)?.createRevision ?? 0;
    const origin = `${madeAt}.${stored.createRevision}`;
    const before = this.#lanes.get(request.key);
    const lane = laneOf(stored, origin, before);
    if (lane !== before) this.#lanes.set(request.key, lane);
    // Written since: whatever was wrong may be mended.
    if (lane.revision !== stored.modRevision) lane.dueMs = 0;
    lane.revision = stored.modRevision;
    return { request, tenant, stored, lane, origin };
  }

  async #inTurn(lane: Lane, work: () => Promise<void>): Promise<void> {
    const done = lane.turn.then(work);
    lane.turn = done.catch(() => undefined);
    await done;
  }

  async #advance(hook: Hook): Promise<void> {
    const { tenant, stored, lane, request } = hook;
    if (this.#ending.signal.aborted || this.#lanes.get(request.key) !== lane) return;
    await this.#ready(hook);
    await this.#giveUp(hook, `not delivered within ${HOLD_DAYS} days`, (event) => this.#isTooOld(event));
    const delivery = this.#records.of(hook);
    const isGone = delivery?.record.gone?.revision === stored.modRevision;
    if (stored.record.paused) return this.#hold(hook);
    if ((this.#underWay.get(request.tenantId) ?? 0) >= PER_TENANT) return this.again(request, BUSY_MS);
    const order = tenant.get('webhook-orders', idOf('webhook-orders', stored.record.name, stored.record.id));
    if (order !== undefined && order.record.redeliver > (delivery?.record.redelivered ?? 0)) {
      await this.#redeliver(hook, order.record);
      if (!this.#isCurrent(hook)) return this.again(request);
    }
    if (isGone && this.#records.of(hook)?.record.gone !== undefined) return this.#hold(hook);
    const waitMs = lane.dueMs - this.deps.clock.monotonicMs();
    if (waitMs > 0) return this.#hold(hook, waitMs);
    if (lane.backlog.first === undefined) return;
    await this.#burst(hook);
  }

  /** False: it was deleted, paused or changed meanwhile, or another process sends by now. */
  #isCurrent({ tenant, stored, request }: Hook): boolean {
    return (
      this.deps.owns(request.tenantId) &&
      tenant.get('webhooks', request.id)?.modRevision === stored.modRevision
    );
  }

  /** Nothing is sent now; that more wait is stored now and then. */
  async #hold(hook: Hook, waitMs = EXPIRY_MS): Promise<void> {
    const { lane, request } = hook;
    const { pending } = lane.backlog;
    let nextMs = Math.min(waitMs, EXPIRY_MS);
    if (pending !== this.#records.of(hook)?.record.pending) {
      const nowMs = this.deps.clock.monotonicMs();
      if (nowMs - lane.toldMs >= TELL_MS) {
        lane.toldMs = nowMs;
        await this.#records.store(hook, (delivery) => ({ ...delivery, pending }));
      } else nextMs = Math.min(nextMs, lane.toldMs + TELL_MS - nowMs);
    }
    this.again(request, nextMs);
  }

  /** The watch is open, the position is stored, the backlog is read. */
  async #ready(hook: Hook): Promise<void> {
    const { tenant, stored, lane, origin } = hook;
    await this.#watches.open(tenant);
    if (this.#records.of(hook) === undefined) {
      // The event of its creation is the first one: it has the same revision.
      const position = {
        origin,
        revision: stored.createRevision,
        event: '',
      };
      await this.#records.store(hook, () => ({ position, pending: 0, deadLetters: 0, dropped: 0 }));
    }
    const { from: done } = lane;
    if (done !== undefined) {
      const isStored = await this.#records.store(hook, (delivery) => {
        const { origin: at, revision, event } = delivery.position;
        return at === origin && revision < done.revision
          ? { ...delivery, position: { ...done, event } }
          : delivery;
      });
      if (isStored) lane.from = undefined;
    }
    const delivery = this.#records.of(hook)?.record;
    if (delivery === undefined || lane.backlog.isRead) return;
    if (lane.isResumed && delivery.failing !== undefined) {
      const waitMs = Date.parse(delivery.failing.retryAt) - this.deps.clock.now().getTime();
      lane.dueMs = this.deps.clock.monotonicMs() + Math.max(0, Math.min(waitMs, MAX_WAIT_MS));
    }
    lane.isResumed = false;
    const { position } = delivery;
    // By its id an event that came before the webhook is told apart only by the time.
    const from =
      position.event === ''
        ? {
            ...position,
            event: position.origin === origin ? '' : lowestAt('event', Date.parse(stored.record.createdAt)),
          }
        : position;
    await lane.backlog.read(tenant, from, origin);
  }

  #isTooOld({ record }: JournalEvent): boolean {
    return Date.parse(record.at) < this.deps.clock.now().getTime() - HOLD_MS;
  }

  /** Until one is not taken, or others are to have their turn. */
  async #burst(hook: Hook): Promise<void> {
    const { lane, request } = hook;
    const { backlog } = lane;
    let unstored = 0;
    let last: { readonly event: JournalEvent; readonly code: number } | undefined;
    const keep = async (): Promise<void> => {
      if (last === undefined || unstored === 0) return;
      unstored = 0;
      await this.#storeSuccess(hook, last.event, last.code);
    };
    for (let sent = 0; sent < BURST; sent += 1) {
      const event = backlog.first;
      if (event === undefined || (sent > 0 && lane.waiting > 0)) break;
      if (!this.#isCurrent(hook)) {
        await keep();
        return this.again(request);
      }
      const verdict = await this.#send(hook, event.record);
      if (verdict.outcome !== 'delivered') {
        await keep();
        if (verdict.outcome === 'none') {
          if (!verdict.isEnding) this.again(request, BUSY_MS);
          return;
        }
        return this.#failed(hook, event, verdict);
      }
      backlog.drop(1);
      last = { event, code: verdict.code };
      unstored += 1;
      if (unstored >= COMMIT_EVERY) await keep();
    }
    await keep();
    if (!backlog.isRead || backlog.first !== undefined) this.again(request);
  }

  async #send({ request, stored }: Hook, event: EventRecord): Promise<Verdict> {
    const { tenantId } = request;
    this.#underWay.set(tenantId, (this.#underWay.get(tenantId) ?? 0) + 1);
    try {
      const answer = await this.#sending.post(tenantId, stored.record, event, this.#ending.signal);
      const verdict = judge(answer);
      if (verdict.outcome !== 'none') this.#sending.counted(verdict.outcome);
      return verdict;
    } finally {
      const left = (this.#underWay.get(tenantId) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(tenantId);
      else this.#underWay.set(tenantId, left);
    }
  }

  async #storeSuccess(hook: Hook, event: JournalEvent, code: number): Promise<void> {
    const { lane, origin } = hook;
    const at = this.deps.clock.now().toISOString();
    await this.#records.store(
      hook,
      ({ failing: _failing, gone: _gone, ...delivery }) => ({
        ...delivery,
        position: lane.backlog.positionAfter(event),
        pending: lane.backlog.pending,
        lastSuccess: { at, event: event.record.id, code },
      }),
      (transaction, before) => {
        if ((before?.failing?.attempts ?? 0) >= FAILING_AFTER)
          this.#records.tell(
            hook,
            transaction,
            'webhook.recovered',
            `${hook.stored.record.name} takes events again`,
          );
      },
    );
    // In a store that was written anew the order of ids has served its turn.
    const settled = lane.backlog.settled(origin, event.id);
    if (settled !== undefined && this.#records.of(hook)?.record.position.origin !== origin)
      await this.#records.store(hook, (delivery) => ({ ...delivery, position: settled }));
  }

  async #failed(hook: Hook, event: JournalEvent, verdict: Failed): Promise<void> {
    const { lane, stored, request } = hook;
    const now = this.deps.clock.now();
    const known = this.#records.of(hook)?.record.failing;
    const attempts = (known?.event === event.record.id ? known.attempts : 0) + 1;
    if (isGivenUp(verdict, attempts)) {
      const reason = `refused ${attempts} times: ${verdict.reason}`;
      await this.#giveUp(hook, reason, (one) => one.id === event.id, { attempts, ...codeOf(verdict) });
      return this.again(request);
    }
    const random = this.#sending.random?.() ?? Math.random();
    const delayMs = retryDelayMs(attempts, random, verdict.retryAfterMs);
    lane.dueMs = this.deps.clock.monotonicMs() + delayMs;
    const at = now.toISOString();
    const { name } = stored.record;
    const isGone = verdict.isGone === true;
    await this.#records.store(
      hook,
      (delivery) => ({
        ...delivery,
        pending: lane.backlog.pending,
        lastFailure: { at, event: event.record.id, reason: verdict.reason, ...codeOf(verdict) },
        failing: {
          event: event.record.id,
          attempts,
          since: known?.event === event.record.id ? known.since : at,
          retryAt: new Date(now.getTime() + delayMs).toISOString(),
        },
        ...(isGone && { gone: { at, revision: stored.modRevision } }),
      }),
      (transaction) => {
        if (isGone)
          this.#records.tell(
            hook,
            transaction,
            'webhook.gone',
            `the receiver of ${name} answered 410: nothing is sent until the webhook is written again`,
          );
        else if (attempts === FAILING_AFTER)
          this.#records.tell(
            hook,
            transaction,
            'webhook.failing',
            `${name} did not take an event in ${attempts} attempts (${verdict.reason}); events are held for ${HOLD_DAYS} days`,
          );
      },
    );
    this.again(request, isGone ? EXPIRY_MS : delayMs);
  }

  /** The first events that fit become dead letters. */
  async #giveUp(
    hook: Hook,
    reason: string,
    fits: (event: JournalEvent) => boolean,
    last: { readonly attempts?: number; readonly code?: number } = {},
  ): Promise<void> {
    const { lane, tenant, stored } = hook;
    const { name, id } = stored.record;
    for (;;) {
      if (!lane.backlog.isRead) await this.#ready(hook);
      const events = lane.backlog.leading(fits).slice(0, DEAD_AT_ONCE);
      const end = events.at(-1);
      if (end === undefined) return;
      const failing = this.#records.of(hook)?.record.failing;
      const deadAt = this.deps.clock.now().toISOString();
      const letters = events.map(({ record: event }) => ({
        event,
        deadAt,
        reason,
        attempts: last.attempts ?? (failing?.event === event.id ? failing.attempts : 0),
        ...(last.code !== undefined && { code: last.code }),
      }));
      const room = await roomForDeadLetters(tenant, stored.record, this.#records.of(hook)?.record, letters);
      const withRoom = (delivery: WebhookDelivery): WebhookDelivery => ({
        ...delivery,
        ...room.kept,
        dropped: delivery.dropped + room.dropped,
      });
      if (!room.isEnough) {
        if (await this.#records.store(hook, withRoom, room.include)) continue;
        throw new Error(`room for the dead letters of webhook ${id} could not be made`);
      }
      const isStored = await this.#records.store(
        hook,
        ({ failing: _failing, ...delivery }) => ({
          ...withRoom(delivery),
          position: lane.backlog.positionAfter(end),
          pending: lane.backlog.pending - events.length,
        }),
        (transaction, before) => {
          room.include(transaction);
          if ((before?.deadLetters ?? 0) === 0)
            this.#records.tell(
              hook,
              transaction,
              'webhook.dead_lettered',
              `events for ${name} were given up (${reason}): berth webhook dead-letters ${name}`,
            );
        },
      );
      if (!isStored) throw new Error(`the dead letters of webhook ${id} could not be stored`);
      lane.backlog.drop(events.length);
      for (const _event of events) this.#sending.counted('dead_letter');
    }
  }

  /** Each once, some of them in a turn; the first that is not taken ends it. */
  async #redeliver(
    hook: Hook,
    { redeliver, events }: { redeliver: number; events?: readonly string[] },
  ): Promise<void> {
    const { tenant, stored, lane } = hook;
    let sent = 0;
    for await (const letter of orderedDeadLetters(tenant, stored.record, events)) {
      if (!this.#isCurrent(hook)) return;
      // What was taken is deleted: the next turn goes on behind it.
      if (sent >= BURST || (sent > 0 && lane.waiting > 0)) return this.again(hook.request);
      sent += 1;
      const verdict = await this.#send(hook, letter.record.event);
      if (verdict.outcome === 'none') {
        if (!verdict.isEnding) this.again(hook.request, BUSY_MS);
        return;
      }
      const at = this.deps.clock.now().toISOString();
      const event = letter.record.event.id;
      if (verdict.outcome !== 'delivered') {
        const failure = { at, event, reason: verdict.reason, ...codeOf(verdict) };
        await this.#records.store(hook, (delivery) => ({
          ...delivery,
          redelivered: redeliver,
          lastFailure: failure,
        }));
        return;
      }
      lane.dueMs = 0;
      await this.#records.store(
        hook,
        ({ gone: _gone, ...delivery }) => ({
          ...withoutLetter(delivery, letter.record),
          lastSuccess: { at, event, code: verdict.code },
        }),
        (transaction) => transaction.deleteCold('webhook-dead-letters', letter.id),
      );
    }
    await this.#records.store(hook, (delivery) => ({ ...delivery, redelivered: redeliver }));
  }

  /** The journal is about to lose these events: what was not sent of them is a dead letter first. */
  async release(tenantId: TenantId, events: readonly Stored<EventRecord>[]): Promise<void> {
    const tenant = this.deps.store.forTenant(tenantId);
    const ids = new Set(events.map(({ id }) => id));
    const end = events.reduce(
      (last, { id, createRevision }) =>
        isBefore(last, { id, revision: createRevision })
          ? { origin: '', revision: createRevision, event: id }
          : last,
      { origin: '', revision: 0, event: '' },
    );
    const release = async (stored: Stored<WebhookRecord>): Promise<void> => {
      const key = this.keyOf(tenantId, stored.id);
      const hook = this.#hookOf({ key, tenantId, id: stored.id }, tenant, stored);
      const { lane } = hook;
      lane.waiting += 1;
      try {
        await this.#inTurn(lane, async () => {
          await this.#ready(hook);
          const reason = 'the journal keeps no more events, and it was not delivered until then';
          await this.#giveUp(hook, reason, (event) => ids.has(event.id) || !isBefore(end, event));
        });
      } finally {
        lane.waiting -= 1;
      }
    };
    // Side by side: each waits for one request at most, and all of them for the slowest.
    await Promise.all(tenant.list('webhooks').map(release));
  }

  /** Of a webhook that is gone, or was replaced by another of its name. */
  async #removeLeftovers(tenant: TenantStore, id: string, current: string | undefined): Promise<void> {
    const [name] = segmentsOf('webhooks', id);
    const under = prefixOf('webhook-deliveries', name);
    for (const left of tenant.collection('webhook-deliveries').listUnder(under)) {
      const [, webhook] = segmentsOf('webhook-deliveries', left.id);
      if (webhook === current) continue;
      await removeDeadLetters(tenant, name, webhook);
      const transaction = tenant.transaction().expect('webhook-deliveries', left.id, left);
      await this.commit(tenant, transaction.delete('webhook-deliveries', left.id));
    }
  }

  #arrived(tenant: TenantStore, revision: number, events: readonly JournalEvent[]): void {
    for (const { id } of tenant.list('webhooks')) {
      const lane = this.#lanes.get(this.keyOf(tenant.tenantId, id));
      if (lane?.backlog.arrive(revision, events)) this.add(tenant.tenantId, id);
    }
  }
}

function withoutLetter(delivery: WebhookDelivery, letter: DeadLetter): WebhookDelivery {
  const { deadLetters, deadLetterBytes: bytes } = delivery;
  return {
    ...delivery,
    deadLetters: Math.max(0, deadLetters - 1),
    ...(bytes !== undefined && { deadLetterBytes: Math.max(0, bytes - deadLetterBytes(letter)) }),
  };
}

function codeOf({ code }: Failed): { readonly code?: number } {
  return code === undefined ? {} : { code };
}
