import { setImmediate as turn } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { OUTCOMES, type Outcome } from '../../core/plan/webhooks/delivery.ts';
import type { RejectionCode } from '../../core/rejections/catalogue.ts';
import type { Family } from '../figures/family.ts';
import { familyText } from '../figures/family-text.ts';
import type { Route } from './route.ts';
import { talliedCounter, talliedHistogram } from './tallied.ts';

export interface ApiMetrics {
  request(route: Route, status: number, seconds: number): void;
  rejected(code: RejectionCode): void;
}

interface RouteFigures {
  readonly observe: (seconds: number) => void;
  readonly countOf: (status: number) => () => void;
}

/** Made when it is first asked for. */
function onceFor<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    return value;
  };
}

/** Gauges that the library names like counters; `nodejs_active_resources` and its like say the same by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Characters. */
const LARGE_FAMILY = 32_768;

/** Labels of what requests are counted by are route templates, statuses and codes: bounded sets, never a tenant's input. */
export class Metrics implements ApiMetrics {
  readonly registry = new Registry();
  readonly #requests: (labels: Record<'method' | 'route' | 'status', string>) => () => void;
  readonly #seconds: (labels: Record<'method' | 'route', string>) => (seconds: number) => void;
  readonly #figures = new WeakMap<Route, RouteFigures>();
  readonly #rejected: (code: RejectionCode) => () => void;
  readonly #families: Family[] = [];
  #making: Promise<string> | undefined;

  constructor() {
    const { registry } = this;
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
    this.#requests = talliedCounter({
      name: 'berth_http_requests_total',
      help: 'Requests answered, by route and status.',
      labelNames: ['method', 'route', 'status'],
      registry,
    });
    this.#seconds = talliedHistogram(
      {
        name: 'berth_http_request_seconds',
        help: 'Time to answer, by route.',
        labelNames: ['method', 'route'],
        registry,
      },
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    );
    const rejections = talliedCounter({
      name: 'berth_rejections_total',
      help: 'Rejections sent, by code.',
      labelNames: ['code'],
      registry,
    });
    this.#rejected = onceFor((code: RejectionCode) => rejections({ code }));
  }

  request(route: Route, status: number, seconds: number): void {
    const { observe, countOf } = this.#figures.get(route) ?? this.#figuresOf(route);
    observe(seconds);
    countOf(status)();
  }

  rejected(code: RejectionCode): void {
    this.#rejected(code)();
  }

  /** Label sets are looked up once per route and status, not with every request. */
  #figuresOf(route: Route): RouteFigures {
    const labels = { method: route.method, route: route.path };
    const figures = {
      observe: this.#seconds(labels),
      countOf: onceFor((status: number) => this.#requests({ ...labels, status: String(status) })),
    };
    this.#figures.set(route, figures);
    return figures;
  }

  /** Decision times and commits of the controllers, by controller: a small, fixed set. */
  controllers(): {
    decided: (controller: string, seconds: number) => void;
    reconciled: (controller: string, seconds: number) => void;
    committed: (controller: string, result: string) => void;
  } {
    const { registry } = this;
    const times = (name: string, help: string, buckets: readonly number[]) => {
      const seconds = talliedHistogram({ name, help, labelNames: ['controller'], registry }, buckets);
      const of = onceFor((controller: string) => seconds({ controller }));
      return (controller: string, value: number) => of(controller)(value);
    };
    const commits = talliedCounter({
      name: 'berth_controller_commits_total',
      help: 'Commits of controllers, by result.',
      labelNames: ['controller', 'result'],
      registry,
    });
    const committed = onceFor((controller: string) =>
      onceFor((result: string) => commits({ controller, result })),
    );
    return {
      decided: times(
        'berth_controller_decision_seconds',
        'Time of one decision, by controller.',
        [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
      ),
      reconciled: times(
        'berth_controller_reconcile_seconds',
        'Time to reconcile one record, its commit included, by controller.',
        [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
      ),
      committed: (controller, result) => committed(controller)(result)(),
    };
  }

  /** How commits of this process end, and how long they take. */
  store(): (result: string, seconds: number) => void {
    const { registry } = this;
    const commits = talliedCounter({
      name: 'berth_store_commits_total',
      help: 'Commits of this process to the store, by result.',
      labelNames: ['result'],
      registry,
    });
    const observe = talliedHistogram(
      {
        name: 'berth_store_commit_seconds',
        help: 'Time until a commit is durable, or was refused.',
        labelNames: [],
        registry,
      },
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    )({});
    const counted = onceFor((result: string) => commits({ result }));
    return (result, seconds) => {
      counted(result)();
      observe(seconds);
    };
  }

  /** Attempts to deliver events to webhooks, by a small, fixed set. */
  webhooks(): (outcome: Outcome) => void {
    const attempts = talliedCounter({
      name: 'berth_webhook_deliveries_total',
      help: 'Attempts to deliver an event to a webhook, by outcome; dead_letter: events that were given up.',
      labelNames: ['outcome'],
      registry: this.registry,
    });
    const counts = new Map(OUTCOMES.map((outcome) => [outcome, attempts({ outcome })]));
    return (outcome) => counts.get(outcome)?.();
  }

  /** A number that is read when the metrics are. */
  gauge(name: string, help: string, read: () => number): void {
    this.family({ name, help, labels: [], read: () => [[{}, read()]] });
  }

  /** One that only grows; its name ends in `_total`. */
  counter(name: string, help: string, read: () => number): void {
    this.family({ name, help, type: 'counter', labels: [], read: () => [[{}, read()]] });
  }

  /** Read on every scrape. */
  family(described: Family): void {
    this.#families.push(described);
  }

  /** Everything, in the text format of Prometheus. Who asks while it is made gets the same: a large one takes a while. */
  text(): Promise<string> {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /** Between large families others have a turn. */
  async #make(): Promise<string> {
    const parts = [await this.registry.metrics()];
    for (const described of this.#families) {
      const part = familyText(described);
      parts.push(part);
      if (part.length > LARGE_FAMILY) await turn();
    }
    return parts.join('');
  }
}
