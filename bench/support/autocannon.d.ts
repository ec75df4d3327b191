declare module 'autocannon' {
  export interface Request {
    method?: string;
    path?: string;
    headers?: Record<string, string>;
    body?: string;
    setupRequest?: (request: Request) => Request;
  }
  export interface Options {
    url: string;
    /** A unix socket that is dialled instead. */
    socketPath?: string;
    connections?: number;
    duration?: number;
    /** So many requests instead of so long. */
    amount?: number;
    /** A run ends at a multiple of so many milliseconds; 1,000 unless told. */
    sampleInt?: number;
    headers?: Record<string, string>;
    requests?: Request[];
  }
  export interface Result {
    readonly requests: { readonly average: number };
    readonly latency: { readonly p50: number; readonly p99: number };
    readonly errors: number;
    readonly non2xx: number;
    readonly '2xx': number;
    /** In seconds. */
    readonly duration: number;
  }
  export interface Run extends Promise<Result> {
    on(
      event: 'response',
      listener: (client: object, status: number, bytes: number, millis: number) => void,
    ): void;
    stop(): void;
  }
  export default function autocannon(options: Options): Run;
}
