/** One message of a stream of server-sent events. */
export interface Frame {
  readonly event: string;
  readonly data: string;
  /** Of this message, or of the last one before it that had one. */
  readonly id?: string;
}

/** Longer than any message of a control plane. */
const MAX_PENDING = 4 * 2 ** 20;

/** Takes text in any pieces and gives out whole messages; comments (keep-alives) are none. */
export class FrameReader {
  #rest = '';
  #id: string | undefined;
  #event = '';
  #data: string[] = [];
  #size = 0;

  push(text: string): readonly Frame[] {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    const whole = lines.flatMap((line) => this.#take(line) ?? []);
    if (this.#size + this.#rest.length > MAX_PENDING) throw new Error('an event is longer than 4 MiB');
    return whole;
  }

  #take(line: string): Frame | undefined {
    if (line === '') return this.#whole();
    this.#size += line.length;
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'id') this.#id = value;
    else if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
    return undefined;
  }

  #whole(): Frame | undefined {
    const [event, data] = [this.#event === '' ? 'message' : this.#event, this.#data];
    this.#event = '';
    this.#data = [];
    this.#size = 0;
    if (data.length === 0) return undefined;
    return { event, data: data.join('\n'), ...(this.#id === undefined ? {} : { id: this.#id }) };
  }
}
