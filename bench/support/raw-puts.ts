import { Client, credentials } from '@grpc/grpc-js';
import { METHODS } from '../../src/server/store/etcd/messages.ts';

export interface RawPuts {
  put(key: string, value: string): Promise<void>;
  close(): void;
}

/** What "raw puts from Node" means in the bars: one unary call for each, with the stock gRPC library. */
export function rawPuts(endpoint: string): RawPuts {
  const client = new Client(new URL(endpoint).host, credentials.createInsecure());
  return {
    put: (key, value) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          METHODS.put.path,
          (request: Record<string, unknown>) => METHODS.put.encode(request),
          (bytes) => METHODS.put.decode(bytes),
          { key, value },
          { deadline: Date.now() + 10_000 },
          (error) => (error ? reject(error) : resolve()),
        );
      }),
    close: () => client.close(),
  };
}
