import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Route } from './route.ts';
import { talliedCounter, talliedHistogram } from './tallied.ts';

export interface ApiMetrics {
  request(route: Route, status: number, seconds: number): void;
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

/** Labels are route templates and statuses: bounded sets, never a tenant's input. */
export class Metrics implements ApiMetrics {
  readonly registry = new Registry();
  readonly #requests: (labels: Record<'method' | 'route' | 'status', string>) => () => void;
  readonly #seconds: (labels: Record<'method' | 'route', string>) => (seconds: number) => void;
  readonly #figures = new WeakMap<Route, RouteFigures>();

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'berth_' });
    const { registry } = this;
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
  }

  request(route: Route, status: number, seconds: number): void {
    const { observe, countOf } = this.#figures.get(route) ?? this.#figuresOf(route);
    observe(seconds);
    countOf(status)();
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
    committed: (controller: string, result: string) => void;
  } {
    const { registry } = this;
    const seconds = talliedHistogram(
      {
        name: 'berth_controller_decision_seconds',
        help: 'Time of one decision, by controller.',
        labelNames: ['controller'],
        registry,
      },
      [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
    );
    const commits = talliedCounter({
      name: 'berth_controller_commits_total',
      help: 'Commits of controllers, by result.',
      labelNames: ['controller', 'result'],
      registry,
    });
    const decided = onceFor((controller: string) => seconds({ controller }));
    const committed = onceFor((controller: string) =>
      onceFor((result: string) => commits({ controller, result })),
    );
    return {
      decided: (controller, value) => decided(controller)(value),
      committed: (controller, result) => committed(controller)(result)(),
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
