import { CHANNEL_OUTPUT, type ChannelStart } from '../../core/contract/channel-messages.ts';
import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import type { ClientSocket } from './client-socket.ts';
import { readChannelNews, refusalIn } from './remote-command.ts';

/** The bytes that come after `start` was said, until the other side has ended well; anything else is thrown. */
export async function* bytesFrom(socket: ClientSocket, start: ChannelStart): AsyncGenerator<Buffer> {
  await socket.say(start);
  for await (const item of socket.incoming) {
    if (typeof item !== 'string') {
      if (item[0] === CHANNEL_OUTPUT.stdout) yield item.subarray(1);
      continue;
    }
    const news = readChannelNews(item);
    if (news?.type === 'eof') return;
    if (news?.type !== 'end') continue;
    const refusal = refusalIn(news);
    if (refusal !== undefined) throw refusal;
    return;
  }
  throw new Failure('the connection was lost', { exitCode: EXIT.unreachable });
}
