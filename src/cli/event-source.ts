import type { IncomingMessage } from 'node:http';

export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** A line longer than this is no event of a control plane. */
const MAX_LINE = 4 * 2 ** 20;

/** Server-sent events, as they come; comments (the keep-alive) are passed over. */
export async function* serverEvents(
  answer: IncomingMessage | AsyncIterable<Buffer>,
): AsyncGenerator<ServerEvent> {
  let rest = '';
  let id = '';
  let event = '';
  let data: string[] = [];
  const decoder = new TextDecoder();
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > MAX_LINE) throw new Error('an event is longer than 4 MiB');
    const lines = rest.split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { id, event: event === '' ? 'message' : event, data: data.join('\n') };
        event = '';
        data = [];
        continue;
      }
      const [, name = '', value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? [];
      if (name === 'id') id = value;
      else if (name === 'event') event = value;
      else if (name === 'data') data.push(value);
    }
  }
}
