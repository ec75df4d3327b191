import { frameReader } from '../../core/schema/read-message.ts';
import { serverMessage } from '../../core/protocol/server-messages.ts';

/**
 * Reads a frame of the control plane. Undefined: not a message that this agent understands, e.g. one of a newer version,
 * which is ignored.
 */
export const decodeServerMessage = frameReader(serverMessage);
