import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Route } from './route.ts';

export interface ApiMetrics {
  request(route: Route, status: number, seconds: number): void;
}

interface RouteFigures {
  readonly count: () => void;
  readonly observe: (seconds: number) => void;
}

/** Labels are route templates and statuses: bounded sets, never a tenant's input. */
export class Metrics implements ApiMetrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #seconds: Histogram<'method' | 'route'>;
  readonly #children = new WeakMap<Route, Map<number, RouteFigures>>();

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'berth_' });
    this.#requests = new Counter({
      name: 'berth_http_requests_total',
      help: 'Requests answered, by route and status.',
      labelNames: ['method', 'route', 'status'],
      registers: [this.registry],
    });
    this.#seconds = new Histogram({
      name: 'berth_http_request_seconds',
      help: 'Time to answer, by route.',
      labelNames: ['method', 'route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [this.registry],
    });
  }

  request(route: Route, status: number, seconds: number): void {
    const figures = this.#children.get(route)?.get(status) ?? this.#figuresOf(route, status);
    figures.count();
    figures.observe(seconds);
  }

  /** Label sets are looked up once per route and status, not with every request. */
  #figuresOf(route: Route, status: number): RouteFigures {
    const labels = { method: route.method, route: route.path };
    const counter = this.#requests.labels({ ...labels, status: String(status) });
    const histogram = this.#seconds.labels(labels);
    const figures = { count: () => counter.inc(), observe: (value: number) => histogram.observe(value) };
    const byStatus = this.#children.get(route) ?? new Map<number, RouteFigures>();
    this.#children.set(route, byStatus.set(status, figures));
    return figures;
  }

  /** Decision times and commits of the controllers, by controller: a small, fixed set. */
  controllers(): {
    decided: (controller: string, seconds: number) => void;
    committed: (controller: string, result: string) => void;
  } {
    const seconds = new Histogram({
      name: 'berth_controller_decision_seconds',
      help: 'Time of one decision, by controller.',
      labelNames: ['controller'],
      buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
      registers: [this.registry],
    });
    const commits = new Counter({
      name: 'berth_controller_commits_total',
      help: 'Commits of controllers, by result.',
      labelNames: ['controller', 'result'],
      registers: [this.registry],
    });
    // As with routes: a label set is looked up once, not with every decision.
    const decided = new Map<string, (value: number) => void>();
    const committed = new Map<string, () => void>();
    return {
      decided: (controller, value) => {
        let observe = decided.get(controller);
        if (observe === undefined) {
          const child = seconds.labels({ controller });
          observe = (one) => child.observe(one);
          decided.set(controller, observe);
        }
        observe(value);
      },
      committed: (controller, result) => {
        const labels = `${controller} ${result}`;
        let count = committed.get(labels);
        if (count === undefined) {
          const child = commits.labels({ controller, result });
          count = () => child.inc();
          committed.set(labels, count);
        }
        count();
      },
    };
  }

  /** A number that is read when the metrics are. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** One figure for each set of labels that there is at the moment; the caller bounds them. */
  series<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    read: () => readonly (readonly [Readonly<Record<Label, string>>, number])[],
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.set({ ...labels }, value);
      },
    });
  }

  histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.registry] });
  }
}
