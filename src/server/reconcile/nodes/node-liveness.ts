import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { Once } from '../../../core/model/once.ts';
import type { NodeLiveness } from '../../../core/model/node.ts';
import {
  beat,
  firstPulse,
  forgiveSilence,
  isSettled,
  type JudgedNode,
  judgeNodes,
  LIVENESS_TIMINGS,
  type LivenessTimings,
  type LivenessVerdicts,
  type NodePulse,
  type NodeVerdict,
  noteFailure,
} from '../../../core/plan/liveness/node-liveness.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Liveness } from '../../runtime/liveness.ts';
import type { Controller, ControllerDeps } from '../controller.ts';
import { SessionsElsewhere } from './sessions-elsewhere.ts';

/** A loop that is due at longer intervals than it counts as late would always be late. */
function tickMs({ lateAfterMs }: LivenessTimings): number {
  return Math.min(1000, lateAfterMs / 5);
}
/** `lastSeenAt` is for people: a node that beats writes it this often, not with every beat, and once more when it has failed. */
const SEEN_EVERY_MS = 60_000;
/** Nodes per commit; each may write a record and an event. */
const NODES_PER_COMMIT = 40;

/** Up to this many nodes a sign of life is judged without a pause. */
const JUDGED_AT_ONCE = 100;
const MAX_JUDGE_PAUSE_MS = 250;

interface HeardNode {
  pulse: NodePulse;
  /** When `lastSeenAt` was written, or is counted from; undefined: not yet. */
  seenWrittenMs: number | undefined;
  /** Judged ready, and stored so; neither its record nor the verdict was written since. */
  ready: boolean;
}

interface TenantPulses {
  readonly nodes: Map<NodeName, HeardNode>;
  /** The enrolled nodes are to be compared with those above. */
  enrolmentChanged: boolean;
  /** Since when this process listens for the tenant. */
  readonly sinceMs: number;
  brake: boolean;
}

/**
 * Owns the node-liveness records. Beats only move a number in memory; a loop on the monotonic clock judges, and writes what
 * changed. A node that comes to life is judged at once.
 */
export class NodeLivenessController implements Controller, Liveness {
  readonly name = 'node-liveness';
  readonly #deps: ControllerDeps;
  readonly #timings: LivenessTimings;
  readonly #controlPlaneNode: NodeName | undefined;
  readonly #tenants = new Map<TenantId, TenantPulses>();
  /** Tenants that may have a node or a verdict on one: a tick of others would cost as much. */
  readonly #withNodes = new Set<TenantId>();
  readonly #judging: Once<TenantId>;
  readonly #urgent = new Set<TenantId>();
  readonly #hearing = new Set<TenantId>();
  readonly #elsewhere: SessionsElsewhere | undefined;
  #unsubscribe: (() => void) | undefined;
  #cancelTick: (() => void) | undefined;
  #lastTickMs: number;
  #running = false;

  constructor(deps: ControllerDeps, controlPlaneNode?: NodeName, timings = LIVENESS_TIMINGS) {
    this.#deps = deps;
    this.#timings = timings;
    this.#controlPlaneNode = controlPlaneNode;
    this.#lastTickMs = deps.clock.monotonicMs();
    this.#judging = new Once((tenantId) => this.#judge(tenantId), {
      onFault: (fault, tenantId) =>
        deps.log('node liveness could not be stored', { tenantId, fault: String(fault) }),
      again: (tenantId) => this.#judgeSoon(tenantId),
    });
    if (deps.controlPlane !== undefined)
      this.#elsewhere = new SessionsElsewhere(deps.store, deps.controlPlane);
  }

  start(): void {
    this.#running = true;
    this.#lastTickMs = this.#deps.clock.monotonicMs();
    this.#schedule();
    // What was heard before the start was not followed until now.
    for (const pulses of this.#tenants.values()) {
      pulses.enrolmentChanged = true;
      for (const node of pulses.nodes.values()) node.ready = false;
    }
    const { view } = this.#deps.store;
    for (const kind of ['nodes', 'node-liveness'] as const)
      for (const tenantId of view.tenantIdsWith(kind)) this.#withNodes.add(tenantId);
    this.#unsubscribe = view.onChange(({ tenantId, kind, id }) => {
      if (tenantId === undefined) return;
      if (kind === 'nodes' || kind === 'node-liveness') this.#unsettle(tenantId, kind, id);
      else if (kind === 'node-sessions') this.#hearSoon(tenantId);
    });
  }

  #unsettle(tenantId: TenantId, kind: 'nodes' | 'node-liveness', id: string): void {
    this.#withNodes.add(tenantId);
    const pulses = this.#tenants.get(tenantId);
    if (pulses === undefined) return;
    if (kind === 'nodes') pulses.enrolmentChanged = true;
    const [name] = segmentsOf(kind, id);
    const node = pulses.nodes.get(name);
    if (node !== undefined) node.ready = false;
  }

  /** A session that opens or closes elsewhere counts at once, not with the next tick. */
  #hearSoon(tenantId: TenantId): void {
    const elsewhere = this.#elsewhere;
    if (elsewhere === undefined || !this.#deps.owns(tenantId) || this.#hearing.has(tenantId)) return;
    this.#hearing.add(tenantId);
    setImmediate(() => {
      this.#hearing.delete(tenantId);
      if (!this.#running || !this.#deps.owns(tenantId)) return;
      this.#hearElsewhere(elsewhere, tenantId);
      this.#judgeSoon(tenantId);
    });
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#unsubscribe?.();
    this.#cancelTick?.();
    await this.#judging.ended();
    this.#tenants.clear();
  }

  /** A fresh grace: silence is held against a node only while this process listened. */
  adopt(tenantId: TenantId): void {
    this.#tenants.delete(tenantId);
    if (this.#elsewhere !== undefined) this.#hearElsewhere(this.#elsewhere, tenantId);
  }

  abandon(tenantId: TenantId): void {
    this.#tenants.delete(tenantId);
  }

  status(): Record<string, unknown> {
    return { brakes: [...this.#tenants].filter(([, pulses]) => pulses.brake).map(([tenantId]) => tenantId) };
  }

  beat(tenantId: TenantId, node: NodeName): void {
    // The owner of the shard learns from the stored session that the agent is alive.
    if (!this.#deps.owns(tenantId)) return;
    const heard = this.#heard(this.#pulses(tenantId), node);
    heard.pulse = beat(heard.pulse, this.#deps.clock.monotonicMs(), this.#timings);
    if (heard.ready) return;
    const stored = this.#deps.store.forTenant(tenantId).get('node-liveness', idOf('node-liveness', node));
    if (stored?.record.status !== 'ready') this.#judgeSoon(tenantId);
  }

  sessionOpened(tenantId: TenantId, node: NodeName): void {
    this.beat(tenantId, node);
    this.#deps.clusters.setConnected(tenantId, node, true);
    if (!this.#deps.owns(tenantId)) return;
    const heard = this.#heard(this.#pulses(tenantId), node);
    const { closedMs: _open, ...pulse } = heard.pulse;
    heard.pulse = pulse;
  }

  sessionClosed(tenantId: TenantId, node: NodeName): void {
    if (!this.#deps.owns(tenantId)) return;
    const heard = this.#heard(this.#pulses(tenantId), node);
    heard.pulse = { ...heard.pulse, closedMs: this.#deps.clock.monotonicMs() };
  }

  /** What is heard of a node may come after its end: of each that is new it is asked whether it is enrolled. */
  #heard(pulses: TenantPulses, name: NodeName): HeardNode {
    const known = pulses.nodes.get(name);
    if (known !== undefined) return known;
    const node: HeardNode = { pulse: firstPulse(pulses.sinceMs), seenWrittenMs: undefined, ready: false };
    pulses.nodes.set(name, node);
    pulses.enrolmentChanged = true;
    return node;
  }

  /** What other control planes stored of their sessions: an open one is a sign of life as long as its process lives. */
  #hearElsewhere(elsewhere: SessionsElsewhere, tenantId: TenantId): void {
    // What was told of a silence is no pause of this process, and is not forgiven with it.
    if (this.#running) this.#forgivePause();
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { node, closedForMs } of elsewhere.of(tenantId)) {
      if (closedForMs === undefined) {
        this.sessionOpened(tenantId, node);
        continue;
      }
      const heard = this.#heard(this.#pulses(tenantId), node);
      if (heard.pulse.closedMs !== undefined) continue;
      const lastBeatMs = Math.min(heard.pulse.lastBeatMs, nowMs - closedForMs);
      heard.pulse = { ...heard.pulse, lastBeatMs, closedMs: nowMs };
    }
  }

  #schedule(): void {
    if (!this.#running) return;
    this.#cancelTick = this.#deps.timers.after(tickMs(this.#timings), () => {
      this.#tick();
      this.#schedule();
    });
  }

  /** Before any judgement: after a pause of the process, what arrived is read, and may ask for one, before timers are. */
  #forgivePause(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const gapMs = nowMs - this.#lastTickMs;
    if (gapMs <= this.#timings.lateAfterMs) return;
    this.#lastTickMs = nowMs;
    this.#deps.log('the liveness loop was late; silence of that time is not held against nodes', { gapMs });
    for (const { nodes } of this.#tenants.values()) {
      for (const node of nodes.values())
        node.pulse = forgiveSilence(node.pulse, nowMs, gapMs, this.#timings.failAfterMs);
    }
  }

  #tick(): void {
    this.#forgivePause();
    this.#lastTickMs = this.#deps.clock.monotonicMs();
    for (const tenantId of this.#withNodes) {
      if (this.#elsewhere !== undefined && this.#deps.owns(tenantId))
        this.#hearElsewhere(this.#elsewhere, tenantId);
      this.#judgeNow(tenantId);
    }
  }

  #judgeSoon(tenantId: TenantId): void {
    if (this.#urgent.has(tenantId)) return;
    this.#urgent.add(tenantId);
    const judge = (): void => {
      this.#urgent.delete(tenantId);
      this.#judgeNow(tenantId);
    };
    const size = this.#pulses(tenantId).nodes.size;
    // A judgement covers the whole tenant: when thousands reconnect at once, each one takes in many of them.
    if (size <= JUDGED_AT_ONCE) setImmediate(judge);
    else this.#deps.timers.after(Math.min(MAX_JUDGE_PAUSE_MS, size / 20), judge);
  }

  #judgeNow(tenantId: TenantId): void {
    if (!this.#running) return;
    if (!this.#deps.owns(tenantId)) {
      // The next owner of the shard starts with a fresh grace period, and so does this process when the shard returns.
      this.#tenants.delete(tenantId);
      return;
    }
    this.#judging.ask(tenantId);
  }

  async #judge(tenantId: TenantId): Promise<void> {
    this.#forgivePause();
    const tenant = this.#deps.store.forTenant(tenantId);
    const pulses = this.#pulses(tenantId);
    if (pulses.enrolmentChanged) this.#compareEnrolled(tenant, pulses);
    const nowMs = this.#deps.clock.monotonicMs();
    const nodes = this.#judged(tenant, pulses, nowMs);
    const verdicts = judgeNodes({
      nodes,
      settled: pulses.nodes.size - nodes.length,
      nowMs,
      startedMs: pulses.sinceMs,
      brake: pulses.brake,
      timings: this.#timings,
    });
    for (const { name, connected } of verdicts.nodes)
      this.#deps.clusters.setConnected(tenantId, name, connected);
    const changed = verdicts.nodes.filter((one) => this.#isNews(tenant, pulses, one, nowMs));
    for (let at = 0; at < changed.length; at += NODES_PER_COMMIT) {
      await this.#store(tenant, pulses, changed.slice(at, at + NODES_PER_COMMIT), nowMs);
    }
    await this.#setBrake(tenant, pulses, verdicts);
    await this.#removeOrphans(tenant);
    this.#forgetEmpty(tenant, pulses);
  }

  /** Until a node is enrolled, or heard of. */
  #forgetEmpty(tenant: TenantStore, pulses: TenantPulses): void {
    const { tenantId } = tenant;
    const isKnown = pulses.nodes.size > 0 || pulses.enrolmentChanged || pulses.brake;
    if (isKnown || this.#tenants.get(tenantId) !== pulses) return;
    if (tenant.collection('nodes').size + tenant.collection('node-liveness').size > 0) return;
    this.#withNodes.delete(tenantId);
    this.#tenants.delete(tenantId);
  }

  /** A node that is no longer enrolled has no liveness; its name may come back as another machine. */
  async #removeOrphans(tenant: TenantStore): Promise<void> {
    const enrolled = tenant.collection('nodes');
    const judged = tenant.collection('node-liveness');
    if (judged.size <= enrolled.size) return;
    const orphans = judged.ids().filter((id) => enrolled.get(id) === undefined);
    const transaction = tenant.transaction();
    for (const id of orphans.slice(0, NODES_PER_COMMIT)) {
      transaction.expect('nodes', id, undefined).delete('node-liveness', id);
    }
    if (orphans.length > 0) await tenant.commit(transaction);
  }

  /** Every enrolled node; one without a heartbeat since the start is silent since the start. */
  #compareEnrolled(tenant: TenantStore, pulses: TenantPulses): void {
    const enrolled = tenant.collection('nodes');
    for (const name of pulses.nodes.keys())
      if (enrolled.get(idOf('nodes', name)) === undefined) pulses.nodes.delete(name);
    if (pulses.nodes.size < enrolled.size)
      for (const { record } of enrolled.list()) this.#heard(pulses, record.name);
    pulses.enrolmentChanged = false;
  }

  /** Those that are not settled: of thousands of nodes that report in time a tick costs a comparison each. */
  #judged(tenant: TenantStore, pulses: TenantPulses, nowMs: number): readonly JudgedNode[] {
    const judged: JudgedNode[] = [];
    let controlPlanes: ReadonlySet<string> | undefined;
    for (const [name, { pulse, ready, seenWrittenMs = nowMs }] of pulses.nodes) {
      const isWritten = !pulse.heard || nowMs - seenWrittenMs < SEEN_EVERY_MS;
      if (ready && isWritten && isSettled(pulse, nowMs, this.#timings)) continue;
      controlPlanes ??= this.#controlPlanes();
      const liveness = tenant.get('node-liveness', idOf('node-liveness', name))?.record;
      judged.push({
        name,
        pulse,
        ...(liveness && { status: liveness.status }),
        lost: liveness?.lost === true,
        controlPlane: controlPlanes.has(name),
      });
    }
    return judged;
  }

  #controlPlanes(): ReadonlySet<string> {
    const names = new Set<string>(
      this.#deps.store.listGlobal('control-planes').map(({ record }) => record.nodeName),
    );
    if (this.#controlPlaneNode !== undefined) names.add(this.#controlPlaneNode);
    return names;
  }

  #isNews(tenant: TenantStore, pulses: TenantPulses, verdict: NodeVerdict, nowMs: number): boolean {
    const stored = tenant.get('node-liveness', idOf('node-liveness', verdict.name))?.record;
    if (stored?.status !== verdict.status || (stored.lost === true) !== verdict.lost) return true;
    if (verdict.status !== 'ready') return false;
    const node = this.#heard(pulses, verdict.name);
    node.ready = true;
    node.seenWrittenMs ??= nowMs;
    // Of one that was not heard there is nothing newer to write.
    return node.pulse.heard && nowMs - node.seenWrittenMs >= SEEN_EVERY_MS;
  }

  async #store(
    tenant: TenantStore,
    pulses: TenantPulses,
    verdicts: readonly NodeVerdict[],
    nowMs: number,
  ): Promise<void> {
    const failed = verdicts.filter(({ name, status }) => {
      return (
        status === 'failed' &&
        tenant.get('node-liveness', idOf('node-liveness', name))?.record.status !== 'failed'
      );
    });
    const transaction = tenant.transaction();
    for (const verdict of verdicts)
      this.#addVerdict(
        tenant,
        transaction,
        verdict,
        this.#lastSeen(pulses.nodes.get(verdict.name)?.pulse, nowMs),
      );
    const result = await tenant.commit(transaction);
    this.#deps.metrics.committed(this.name, result.ok ? 'ok' : 'conflict');
    // A conflict means that a node was re-enrolled or removed: the next tick judges the new state.
    if (!result.ok) return;
    for (const { name } of verdicts) this.#heard(pulses, name).seenWrittenMs = nowMs;
    for (const { name } of failed) {
      const node = this.#heard(pulses, name);
      node.pulse = noteFailure(node.pulse, nowMs);
    }
  }

  /** Of its last beat; undefined: it was not heard since this process listens. */
  #lastSeen(pulse: NodePulse | undefined, nowMs: number): string | undefined {
    if (pulse?.heard !== true) return undefined;
    return new Date(this.#deps.clock.now().getTime() - (nowMs - pulse.lastBeatMs)).toISOString();
  }

  #addVerdict(
    tenant: TenantStore,
    transaction: Transaction,
    verdict: NodeVerdict,
    lastSeenAt: string | undefined,
  ): void {
    const id = idOf('node-liveness', verdict.name);
    const stored = tenant.get('node-liveness', id);
    const now = this.#deps.clock.now().toISOString();
    const sameStatus = stored?.record.status === verdict.status;
    const record: NodeLiveness = {
      status: verdict.status,
      lastSeenAt: lastSeenAt ?? stored?.record.lastSeenAt ?? now,
      since: sameStatus ? stored.record.since : now,
      ...(verdict.reason !== undefined && { reason: verdict.reason }),
      ...(verdict.lost && { lost: true }),
    };
    transaction
      .expect('nodes', id, tenant.get('nodes', id))
      .expect('node-liveness', id, stored)
      .put('node-liveness', id, record);
    if (sameStatus && !(verdict.lost && stored.record.lost !== true)) return;
    this.#deps.journal.event(transaction, tenant.tenantId, nodeEvent(verdict));
  }

  async #setBrake(
    tenant: TenantStore,
    pulses: TenantPulses,
    { brake, failing }: LivenessVerdicts,
  ): Promise<void> {
    if (brake === pulses.brake) return;
    const transaction = tenant.transaction();
    this.#deps.journal.event(transaction, tenant.tenantId, {
      kind: brake ? 'scheduler.brake_on' : 'scheduler.brake_off',
      subject: { kind: 'Tenant', name: tenant.tenantId },
      message: brake
        ? `${failing.length} nodes do not answer at once; their instances are not replaced until enough of them return: ${failing.join(', ')}`
        : 'enough nodes answer again; instances of lost nodes are replaced as usual',
      details: { nodes: failing },
    });
    const result = await tenant.commit(transaction);
    if (result.ok) pulses.brake = brake;
  }

  #pulses(tenantId: TenantId): TenantPulses {
    const known = this.#tenants.get(tenantId);
    if (known) return known;
    const pulses: TenantPulses = {
      nodes: new Map(),
      enrolmentChanged: true,
      sinceMs: this.#deps.clock.monotonicMs(),
      brake: false,
    };
    this.#tenants.set(tenantId, pulses);
    this.#withNodes.add(tenantId);
    return pulses;
  }
}

function nodeEvent({ name, status, lost, reason }: NodeVerdict) {
  const kind = lost ? 'node.lost' : `node.${status}`;
  const standing = lost ? 'lost: its instances are replaced elsewhere' : status;
  return {
    kind,
    subject: { kind: 'Node', name },
    message: `node ${name} is ${standing}${reason === undefined ? '' : ` (${reason})`}`,
    details: { status, ...(reason !== undefined && { reason }) },
  } as const;
}
