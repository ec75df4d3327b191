import { StringDecoder } from 'node:string_decoder';
import { EngineError } from './errors.ts';

const MAX_PENDING_CHARS = 1024 * 1024;

/** The values of a stream of JSON texts, one per line, as `/events`, `/images/create` and `/stats` send them. */
export async function* jsonValues(chunks: AsyncIterable<Buffer>): AsyncGenerator {
  const decoder = new StringDecoder('utf8');
  let pending = '';
  for await (const chunk of chunks) {
    const lines = (pending + decoder.write(chunk)).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line.trim() !== '') yield parse(line);
    }
    if (pending.length > MAX_PENDING_CHARS) throw new EngineError('a JSON text of the engine is too long', 0);
  }
  if (pending.trim() !== '') yield parse(pending);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new EngineError('the engine sent a line that is not JSON', 0, { cause });
  }
}
