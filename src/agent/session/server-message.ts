import { frameReader } from '../../core/contract/protocol/read-message.ts';
import { serverMessage } from '../../core/contract/protocol/server-messages.ts';

/**
 * Reads a frame of the control plane. Undefined: not a message that this agent understands, e.g. one of a newer version,
 * which is passed over.
 */
export const decodeServerMessage = frameReader(serverMessage);
