import pino, { type DestinationStream } from 'pino';

let lastMs = Number.NaN;
let lastText = '';

/** Lines of one moment are many under load, and writing a time out costs more than asking for it. */
export function lineTime(): string {
  const ms = Date.now();
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = `,"time":"${new Date(ms).toISOString()}"`;
  }
  return lastText;
}

/**
 * Where log lines go: those of one turn of the event loop leave in one write, as a write for each would cost a busy control
 * plane more than most of what the lines tell of. The rest is written when the process exits in order.
 */
export function turnedLines(fd: number): DestinationStream {
  const destination = pino.destination({ fd, sync: true });
  let waiting = '';
  const flush = (): void => {
    if (waiting === '') return;
    const lines = waiting;
    waiting = '';
    destination.write(lines);
  };
  process.on('exit', flush);
  return {
    write(line) {
      if (waiting === '') setImmediate(flush);
      waiting += line;
    },
  };
}
