import { existsSync, rmSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { describeFault } from './fault.ts';
import { storeFiles } from './files.ts';
import {
  decodeOperation,
  type FromWriter,
  type WriterOperation,
  type ToWriter,
  WireReader,
  type WriterOptions,
} from './protocol.ts';
import { openWriter, type Writer } from './writer.ts';

/** Entry of the writer thread: opens the writer and feeds it from the port. */
if (parentPort === null) throw new Error('the writer runs in a thread of its own');
const port = parentPort;
const options = workerData as WriterOptions;
const post = (message: FromWriter, moved: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, moved);

function open(): Writer | undefined {
  const files = storeFiles(options.dir);
  for (;;) {
    try {
      return openWriter(options, post);
    } catch (error) {
      const { kind, message } = describeFault(error, files.database, files.dir);
      // Opening takes a little space too; the reserve is there for a store that is needed to delete from.
      if (kind === 'full' && existsSync(files.ballast)) {
        rmSync(files.ballast);
        continue;
      }
      post({ kind: 'refused', fault: kind, message });
      port.close();
      return undefined;
    }
  }
}

const writer = open();
if (writer !== undefined) {
  port.on('message', (message: ToWriter) => {
    if (message.kind === 'close') {
      writer.close();
      port.close();
      return;
    }
    if (message.kind === 'verify') {
      writer.verify();
      return;
    }
    const wire = new WireReader(message.wire);
    const operations: WriterOperation[] = [];
    while (!wire.done) operations.push(decodeOperation(wire));
    writer.enqueue(operations, message.alone);
  });
}
