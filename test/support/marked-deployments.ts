import type { ApiClient, Json } from './harness/api-client.ts';

/** Two fields and a list are written with the same marker: a torn record would show different ones. */
export function markedBody(marker: string): Json {
  return { environment: { ROUND: marker }, labels: { round: marker }, command: ['/bin/web', marker] };
}

export function markerOf(record: Json): { readonly marker: string; readonly torn: boolean } {
  const marker = String((record['environment'] as Json)['ROUND']);
  const rest = [(record['labels'] as Json)['round'], (record['command'] as string[])[1]];
  return { marker, torn: rest.some((value) => value !== marker) };
}

/** Every record of a list, page by page. */
export async function readWhole(api: ApiClient, path: string): Promise<Json[]> {
  const found: Json[] = [];
  let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=1000`;
  while (next !== undefined) {
    const answer = await api.send('GET', next);
    if (answer.status !== 200) throw new Error(`${next}: ${answer.status} ${answer.text}`);
    found.push(...answer.list);
    next = /<([^>]+)>; rel="next"/.exec(String(answer.headers['link'] ?? ''))?.[1];
  }
  return found;
}
