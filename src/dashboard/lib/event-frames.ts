/** One message of a stream of server-sent events. */
export interface EventFrame {
  readonly event: string;
  readonly data: string;
  readonly id?: string;
}

/** Takes text in any pieces and gives out whole messages; comments (keep-alives) are none. */
export class FrameReader {
  #rest = '';

  push(text: string): readonly EventFrame[] {
    const blocks = (this.#rest + text).split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => frameOf(block) ?? []);
  }
}

function frameOf(block: string): EventFrame | undefined {
  let event = 'message';
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ''] = /^([a-z]+):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') event = value;
    if (name === 'data') data.push(value);
    if (name === 'id') id = value;
  }
  if (data.length === 0) return undefined;
  return { event, data: data.join('\n'), ...(id === undefined ? {} : { id }) };
}
